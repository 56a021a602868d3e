"""The configuration: one frozen value, put together from four places.

In: arguments, environment (`AUDIT_…`), a file (`audit.toml`), defaults; the first that names a field
wins. Out: a valid `Config` that knows where each field came from, or an error that names the key.
"""

from __future__ import annotations

import difflib
import getpass
import hashlib
import os
import re
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from audit.errors import ConfigInvalid, ConfigUnknownKey, ConfigUnreadable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FILE_NAME = "audit.toml"
GIB = 1 << 30
# Variables of the environment that are no fields: see audit.embedded.jars, and AUDIT_CONFIG below.
_OTHER_VARIABLES = ("AUDIT_CONFIG", "AUDIT_JARS_DIR", "AUDIT_MAVEN_URL")
_WORDS = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


ARGUMENT = "argument"  # what `Config.sources` says of a field that the caller gave


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be set.

    Attributes:
        root: folder of the audit tables, a Hadoop path; a local one is made absolute.
        user: who runs the statements where nobody else is named; by default the user of the operating system.
        role: recorded as role_name; None where roles are not used.
        schema: the schema that the tables are registered in.
        on_record_failure: `block` (nothing runs unrecorded) or `warn`.
        spool_dir: a local folder; by default `<root>/spool`, or one in the user's state folder for a root
            that is not local.
        spool_max_bytes: bound on the spool, in bytes.
        durable: fsync the spool; without it a crash of the machine (not of the driver) may lose records.
        ingest: `thread` (of this driver) or `external` (`audit ingest`, a job of its own).
        ingest_interval_seconds: between two runs of the thread, in seconds.
        retention_days: how long records are kept, in days.
        listener: watch Spark's events for what the front door did not see.
        cross_check: the share of statements, 0.0 to 1.0, that both engines analyse, off the caller's thread;
            where they differ, the record says so.
        account: what current_account() says.
        propagate_tags: columns that a statement makes of tagged ones carry their tags when it returns: a
            write then waits for its analysis. See `policies.propagation` for the rules.
        admins: users who have role ACCOUNTADMIN, between commas; by default the user of the first session.
        enforce_privileges: every statement needs its privileges; else only those that change the governance,
            grant, or bring back what was dropped.
        sources: for each field where its value came from, in words.
    """

    root: str
    user: str
    role: str | None = None
    schema: str = "account_usage"
    on_record_failure: Literal["block", "warn"] = "block"
    spool_dir: str = ""
    spool_max_bytes: int = GIB
    durable: bool = True
    ingest: Literal["thread", "external"] = "thread"
    ingest_interval_seconds: int = 300
    retention_days: int = 365
    listener: bool = True
    cross_check: float = 0.0
    account: str = "local"
    admins: str = ""
    enforce_privileges: bool = False
    propagate_tags: bool = False
    sources: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )

    @property
    def spool_home(self) -> Path:
        """The folder of `spool/` and `quarantine/`: spool_dir, or what holds it where its name is `spool`."""
        folder = Path(self.spool_dir)
        return folder.parent if folder.name == "spool" else folder

    @property
    def local_root(self) -> Path | None:
        """The root as a path of this machine, None for a root elsewhere (`s3a://…`)."""
        return local_path(self.root)


def load(
    arguments: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    os_user: Callable[[], str] = getpass.getuser,
) -> Config:
    """Put the configuration together: argument > environment > file > default.

    The file is the one that AUDIT_CONFIG names, else `audit.toml` in a local root.

    Args:
        arguments: fields by name; one that is None counts as not given.
        environ: the environment variables; by default this process's.
        directory: what a relative root is relative to; by default the current one.
        os_user: asked only when nobody else names the user.

    Raises:
        ConfigInvalid: an unknown key, a value of the wrong type or out of bounds, an unreadable file.
    """
    environ = os.environ if environ is None else environ
    directory = Path.cwd() if directory is None else directory
    given = {k: v for k, v in (arguments or {}).items() if v is not None}
    _refuse_unknown(given, ARGUMENT)
    layers = [(ARGUMENT, given), ("environment", dict(_from_environment(environ)))]
    layers.append(_from_file(layers, environ, directory))
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for source, layer in layers:
        for key, value in layer.items():
            if key not in values:
                values[key] = _checked(key, value, _describe(source, key))
                sources[key] = _describe(source, key)
    _fill(values, sources, environ, directory, os_user)
    return Config(**values, sources=MappingProxyType(sources))


def local_path(root: str) -> Path | None:
    """A Hadoop path as a path of this machine, None when it is elsewhere.

    >>> local_path("file:///tmp/a").as_posix()
    '/tmp/a'
    >>> local_path("/tmp/a").as_posix()
    '/tmp/a'
    >>> local_path("s3a://bucket/a")
    """
    if root.startswith("file:"):
        return Path(re.sub(r"^file:(//)?", "", root))
    # one letter before the colon is a drive of Windows
    return None if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", root) else Path(root)


def _fill(
    values: dict[str, Any],
    sources: dict[str, str],
    environ: Mapping[str, str],
    directory: Path,
    os_user: Callable[[], str],
) -> None:
    """What nobody set: the defaults, and what follows from root."""
    values.setdefault("root", ".audit")
    local = local_path(values["root"])
    if local is not None:
        values["root"] = str((directory / local.expanduser()).absolute())
    if "user" not in values:
        values["user"], sources["user"] = _operating_system_user(os_user), "operating system"
    if "spool_dir" not in values:
        values["spool_dir"] = _default_spool(values["root"], environ)
        sources["spool_dir"] = "from root"
    spool = local_path(values["spool_dir"]) or Path(values["spool_dir"])
    values["spool_dir"] = str((directory / spool.expanduser()).absolute())
    values.setdefault("admins", values["user"])
    for name in _types():
        sources.setdefault(name, "default")


def _default_spool(root: str, environ: Mapping[str, str]) -> str:
    local = local_path(root)
    if local is not None:
        return str(local / "spool")
    state = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    # a spool for each root, named so that a person and a second driver find the same one
    name = re.sub(r"[^A-Za-z0-9]+", "-", root).strip("-")[:60]
    digest = hashlib.sha256(root.encode()).hexdigest()[:8]
    return str(Path(state) / "spark-access-history" / "spool" / f"{name}-{digest}")


def _operating_system_user(os_user: Callable[[], str]) -> str:
    try:
        return os_user()
    except (KeyError, OSError) as error:  # a uid without an entry in passwd, as in containers
        raise ConfigInvalid(
            f"the operating system does not name the user ({error})", "set user or AUDIT_USER"
        ) from error


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    names = {f"AUDIT_{name.upper()}": name for name in _types()}
    for variable, text in environ.items():
        if not variable.startswith("AUDIT_") or variable in _OTHER_VARIABLES or text == "":
            continue
        if variable in names:
            yield names[variable], _parsed(names[variable], text, variable)
        # Other software has AUDIT_ variables too: only what looks like a slip of ours is refused.
        elif near := difflib.get_close_matches(variable, [*names, *_OTHER_VARIABLES], 1, cutoff=0.85):
            raise ConfigUnknownKey(
                f"the environment variable {variable} means nothing here", f"{near[0]} would"
            )


def _parsed(name: str, text: str, variable: str) -> Any:
    kind = _types()[name]
    if kind.startswith("bool"):
        if text.lower() not in _WORDS:
            raise ConfigInvalid(f"{variable} is {text!r}", f"it is one of {', '.join(_WORDS)}")
        return _WORDS[text.lower()]
    if kind.startswith("int"):
        try:
            return int(text)
        except ValueError:
            raise ConfigInvalid(f"{variable} is {text!r}", "it is a whole number") from None
    if kind == "float":
        try:
            return float(text)
        except ValueError:
            raise ConfigInvalid(f"{variable} is {text!r}", "it is a number") from None
    return text


def _from_file(
    layers: list[tuple[str, dict[str, Any]]], environ: Mapping[str, str], directory: Path
) -> tuple[str, dict[str, Any]]:
    named = environ.get("AUDIT_CONFIG")
    path = directory / Path(named).expanduser() if named else _file_at_root(layers, directory)
    if path is None or not (named or path.is_file()):
        return "file", {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigUnreadable(
            f"cannot read the configuration {path} ({error})", "mend or remove that file"
        ) from error
    _refuse_unknown(values, str(path))
    if "root" in values and not named:
        raise ConfigInvalid(
            f"{path} sets root, but it is read because it lies there",
            "set AUDIT_ROOT, or AUDIT_CONFIG to this file",
        )
    return str(path), values


def _file_at_root(layers: list[tuple[str, dict[str, Any]]], directory: Path) -> Path | None:
    root = next((layer["root"] for _, layer in layers if "root" in layer), ".audit")
    local = local_path(str(root))
    return None if local is None else directory / local.expanduser() / FILE_NAME


def _refuse_unknown(values: Mapping[str, Any], where: str) -> None:
    for key in values:
        if key not in _types():
            near = difflib.get_close_matches(key, _types(), 1, cutoff=0.0)[0]
            raise ConfigUnknownKey(f"{where}: there is no {key!r}", f"the nearest is {near!r}")


def _checked(name: str, value: Any, where: str) -> Any:
    """The value, if the field can have it; the rules stand in one table."""
    if isinstance(value, Path):
        value = str(value)
    kind, valid, wish = _RULES.get(name, (str, lambda text: bool(text.strip()), "text that is not empty"))
    # True is an int to Python, never to us; 1 is a number where 0.5 is one
    if kind is float and type(value) is int:
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not valid(value):
        raise ConfigInvalid(f"{name} ({where}) is {value!r}", f"it is {wish}")
    return value


def _describe(source: str, key: str) -> str:
    return f"AUDIT_{key.upper()}" if source == "environment" else source


def _types() -> dict[str, str]:
    """The fields that can be set, with their types as written."""
    return {f.name: str(f.type) for f in fields(Config) if f.name != "sources"}


_RULES: Mapping[str, tuple[type, Callable[[Any], object], str]] = MappingProxyType(
    {
        "schema": (str, re.compile(r"[A-Za-z_]\w*").fullmatch, "a name of letters, digits and _"),
        "on_record_failure": (str, ("block", "warn").__contains__, "'block' or 'warn'"),
        "ingest": (str, ("thread", "external").__contains__, "'thread' or 'external'"),
        "spool_dir": (str, lambda path: path and local_path(path), "a folder of this machine"),
        "spool_max_bytes": (int, lambda size: size >= 1 << 20, "a number of bytes, at least 1048576 (1 MiB)"),
        "ingest_interval_seconds": (int, lambda seconds: seconds >= 1, "a number of seconds, at least 1"),
        "retention_days": (int, lambda days: days >= 1, "a number of days, at least 1"),
        "durable": (bool, lambda _: True, "true or false"),
        "propagate_tags": (bool, lambda _: True, "true or false"),
        "listener": (bool, lambda _: True, "true or false"),
        "enforce_privileges": (bool, lambda _: True, "true or false"),
        "cross_check": (float, lambda share: 0.0 <= share <= 1.0, "a share of statements, 0.0 to 1.0"),
    }
)
