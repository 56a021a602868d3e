"""The configuration: one frozen value from four sources.

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

from audit.core.errors import ConfigInvalid, ConfigUnknownKey, ConfigUnreadable
from audit.core.file_paths import local_path
from audit.core.identity import Tagging

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FILE_NAME = "audit.toml"
GIB = 1 << 30
TABLE_NAMES = frozenset({"access_history", "query_history", "column_lineage", "table_lineage"})
"""The audit tables; `audit.store.tables` has their columns."""
LONGEST_TAG = 2_000
"""Characters of a query tag or a purpose, as Snowflake's QUERY_TAG."""
# Variables of the environment that are no fields: see audit.spark.embedded.jars, and AUDIT_CONFIG below.
_OTHER_VARIABLES = ("AUDIT_CONFIG", "AUDIT_JARS_DIR", "AUDIT_MAVEN_URL")
_BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


OF_A_SESSION = ("root", "user", "role", "query_tag", "purpose")
"""What each session of an application may have of its own, or is checked by itself."""
ARGUMENT = "argument"  # the source, in `Config.sources`, of a field that the caller gave


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration.

    Attributes:
        root: the folder of the audit tables, a Hadoop path. A local path is made absolute.
        user: the user of all statements that `audit.as_user` gives to nobody else.
        role: the role that records name as role_name.
        schema: the schema that the audit tables are registered in.
        on_record_failure: what happens if a statement cannot be recorded (a full disk). `block`: it does
            not run. `warn`: it runs with a warning, and query_history gets a row of type GAP.
        spool_dir: the folder of the spool, on a local disk of this machine, used by this root alone.
        spool_max_bytes: the most bytes that the spool may hold.
        durable: sync the spool to the disk (fsync). Without it a crash of the machine may lose records; a
            crash of the driver loses none.
        ingest: who moves records from the spool to the tables. `thread`: a thread of this driver. `external`:
            the command `audit ingest`, which you schedule.
        ingest_interval_seconds: the time between two ingests of the thread, or of `audit ingest --watch`.
        retention_days: how many days records are kept.
        retention_by_table: how many days single audit tables are kept, where it is another number:
            `access_history=2190, query_history=2555`. HIPAA asks for six years, SOX for seven.
        aggregated_tables: tables in constant use, separated by commas; `*` stands for any
            characters: `shop.sessions, cache.*`. Queries that read these alone and are alike but for literals
            become one row an hour and ingest, whose `calls` says of how many; what writes, fails or is
            denied has a row of its own.
        listener: also record what runs past PySpark's methods (calls into the JVM), seen by Spark's listener.
        cross_check: the share of statements, 0.0 to 1.0, that are analysed from text and from Spark's plan,
            column by column. A difference is written to the record, whose analysis is `partial` then, and
            counted by `audit.coverage`. No caller waits for it: the worker compares.
        account: the answer of current_account().
        propagate_tags: a column that a statement makes of tagged columns gets their tags. A write then waits
            for its analysis.
        admins: the users who have the role ACCOUNTADMIN, separated by commas.
        enforce_privileges: every statement needs its privileges. Without it only GRANT, UNDROP and statements
            on policies and tags do.
        redact: what is not written down of texts, messages and properties. `keys`: values of passwords, keys
            and tokens, known by their names and forms, as Spark's own patterns (spark.redaction.regex,
            spark.sql.redaction.options.regex, spark.sql.redaction.string.regex) and ours say. `literals`: all
            literals as well, and the values that errors quote.
        redact_pattern: a regular expression: what it matches in a text is not written down either.
        backup_location: where backups lie: a folder of this machine, or `s3a://bucket/prefix`. The default
            is `backups` below the root.
        query_tag: what records call statements that neither `audit.tagged` nor `SET audit.query_tag` name.
        purpose: what records say they are done for, where neither `audit.tagged` nor `SET audit.purpose`
            does.
        openlineage_namespaces: which namespaces of OpenLineage stand for which catalog, separated by commas:
            `spark://thrift:10001=spark_catalog, hive://metastore:9083=spark_catalog`. Exports name the tables
            of a catalog in its first namespace; imports take those of all of them for tables of the catalog.
        openlineage_url: where statements are sent as events of OpenLineage once they are ingested: `http://`
            or `https://` with the path of the receiver (`/api/v1/lineage` where there is none), or a file
            that grows. Its key, if it wants one, is in OPENLINEAGE_API_KEY. Empty: nowhere.
        sources: where each value comes from, by field.
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
    retention_by_table: str = ""
    aggregated_tables: str = ""
    listener: bool = True
    cross_check: float = 0.1
    account: str = "local"
    admins: str = ""
    enforce_privileges: bool = False
    propagate_tags: bool = False
    redact: Literal["keys", "literals"] = "keys"
    redact_pattern: str = ""
    backup_location: str = ""
    query_tag: str = ""
    purpose: str = ""
    openlineage_namespaces: str = ""
    openlineage_url: str = ""
    # Not compared: equal values from other sources are the same configuration.
    sources: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )

    @property
    def spool_home(self) -> Path:
        """The folder of `spool/` and `quarantine/`: spool_dir, or what holds it where its name is `spool`."""
        folder = Path(self.spool_dir)
        return folder.parent if folder.name == "spool" else folder

    @property
    def other_backup_location(self) -> str:
        """Where backups lie, if not below the root; "" for there."""
        return "" if self.backup_location == below_root(self.root) else self.backup_location

    def days_of(self, table: str) -> int:
        """How many days the records of an audit table are kept."""
        return _by_table(self.retention_by_table).get(table, self.retention_days)

    @property
    def local_root(self) -> Path | None:
        """The root as a path of this machine, None for a root elsewhere (`s3a://…`)."""
        return local_path(self.root)


def below_root(root: str) -> str:
    """Where the backups of a root lie by default."""
    return f"{root.rstrip('/')}/backups"


def tagging_of(config: Config) -> Tagging:
    """The query tag and the purpose of a configuration."""
    return Tagging(config.query_tag or None, config.purpose or None)


def configuration(config: Config) -> dict[str, str | int | float | bool | None]:
    """All fields by name, as the record of an attach has them; not the pattern of what is to be hidden."""
    values = {name: getattr(config, name) for name in _types()}
    return {**values, "redact_pattern": "given" if config.redact_pattern else ""}


def load(
    arguments: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    os_user: Callable[[], str] = getpass.getuser,
) -> Config:
    """Load the configuration: argument > environment > file > default.

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
    # A frozen dataclass does not freeze a dict that it holds.
    return Config(**values, sources=MappingProxyType(sources))


def _fill(
    values: dict[str, Any],
    sources: dict[str, str],
    environ: Mapping[str, str],
    directory: Path,
    os_user: Callable[[], str],
) -> None:
    """Fill in defaults, and the fields that depend on root."""
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
    if "backup_location" not in values:
        values["backup_location"] = below_root(values["root"])
        sources["backup_location"] = "from root"
    backups = local_path(values["backup_location"])
    if backups is not None:
        values["backup_location"] = str((directory / backups.expanduser()).absolute())
    receiver = values.get("openlineage_url", "")
    if (file := None if "://" in receiver or not receiver else local_path(receiver)) is not None:
        values["openlineage_url"] = str((directory / file.expanduser()).absolute())
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
        # Other software has AUDIT_ variables, too: only one that resembles a field's name is refused.
        elif near := difflib.get_close_matches(variable, [*names, *_OTHER_VARIABLES], 1, cutoff=0.85):
            raise ConfigUnknownKey(
                f"the environment variable {variable} means nothing here", f"{near[0]} would"
            )


def _parsed(name: str, text: str, variable: str) -> Any:
    kind = _types()[name]
    if kind.startswith("bool"):
        if text.lower() not in _BOOLEANS:
            raise ConfigInvalid(f"{variable} is {text!r}", f"it is one of {', '.join(_BOOLEANS)}")
        return _BOOLEANS[text.lower()]
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
    try:
        if path is None or not (named or path.is_file()):
            return "file", {}
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigUnreadable(
            f"cannot read the configuration {path} ({error})",
            "mend or remove that file, or let this user read it and its folder",
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
            # With a cutoff of 0.0 there is always a nearest one.
            near = difflib.get_close_matches(key, _types(), 1, cutoff=0.0)[0]
            raise ConfigUnknownKey(f"{where}: there is no {key!r}", f"the nearest is {near!r}")


def _checked(name: str, value: Any, where: str) -> Any:
    """The value, if it is valid for the field; one table has the rules."""
    if isinstance(value, Path):
        value = str(value)
    kind, valid, wish = _RULES.get(name, (str, lambda text: bool(text.strip()), "text that is not empty"))
    # In Python True is an int; here it is none. 1 is valid where 0.5 is
    if kind is float and type(value) is int:
        value = float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)) or not valid(value):
        raise ConfigInvalid(f"{name} ({where}) is {value!r}", f"it is {wish}")
    return value


def _describe(source: str, key: str) -> str:
    return f"AUDIT_{key.upper()}" if source == "environment" else source


def _types() -> dict[str, str]:
    """The fields that can be set, with their types as written."""
    # Under `from __future__ import annotations` a field has its type as text.
    return {f.name: str(f.type) for f in fields(Config) if f.name != "sources"}


def _by_table(text: str) -> dict[str, int]:
    """Days by table.

    >>> _by_table("access_history=2190, query_history = 2555")
    {'access_history': 2190, 'query_history': 2555}

    Raises:
        ValueError: it is no such list.
    """
    pairs = [one.partition("=") for one in text.split(",") if text.strip()]
    return {table.strip(): int(days) for table, _, days in pairs}


def _is_by_table(text: str) -> bool:
    try:
        found = _by_table(text)
    except ValueError:
        return False
    return found.keys() <= TABLE_NAMES and all(days >= 1 for days in found.values())


def _is_receiver(text: str) -> bool:
    """Whether it is a URL without secrets, which would be on record, or a path of this machine."""
    if text.startswith(("http://", "https://")):
        host = text.partition("://")[2].partition("/")[0]
        return bool(host) and "@" not in host
    return not text or local_path(text) is not None


def _is_pair(text: str) -> bool:
    """Whether it is `namespace=catalog`; the namespace may hold a `=` itself."""
    namespace, _, catalog = text.rpartition("=")
    return bool(namespace.strip() and catalog.strip())


def _compiles(pattern: str) -> bool:
    try:
        return not pattern or re.compile(pattern).search("") is None
    except re.error:
        return False


_RULES: Mapping[str, tuple[type, Callable[[Any], object], str]] = MappingProxyType(
    {
        "schema": (str, re.compile(r"[A-Za-z_]\w*").fullmatch, "a name of letters, digits and _"),
        "on_record_failure": (str, ("block", "warn").__contains__, "'block' or 'warn'"),
        "redact": (str, ("keys", "literals").__contains__, "'keys' or 'literals'"),
        "redact_pattern": (
            str,
            _compiles,
            "a regular expression of Python's that does not match an empty text",
        ),
        "query_tag": (str, lambda text: len(text) <= LONGEST_TAG, f"text of up to {LONGEST_TAG} characters"),
        "purpose": (str, lambda text: len(text) <= LONGEST_TAG, f"text of up to {LONGEST_TAG} characters"),
        "ingest": (str, ("thread", "external").__contains__, "'thread' or 'external'"),
        # The spool needs fsync, flock and atomic renames, which object stores lack.
        "spool_dir": (str, lambda path: path and local_path(path), "a folder of this machine"),
        "spool_max_bytes": (int, lambda size: size >= 1 << 20, "a number of bytes, at least 1048576 (1 MiB)"),
        "ingest_interval_seconds": (int, lambda seconds: seconds >= 1, "a number of seconds, at least 1"),
        "retention_days": (int, lambda days: days >= 1, "a number of days, at least 1"),
        "retention_by_table": (
            str,
            _is_by_table,
            f"table=days, separated by commas; the tables are {', '.join(sorted(TABLE_NAMES))}",
        ),
        "aggregated_tables": (str, lambda _: True, "names of tables, separated by commas"),
        "openlineage_url": (
            str,
            _is_receiver,
            "http://…, https://… without user and password, or a local path",
        ),
        "openlineage_namespaces": (
            str,
            lambda text: all(_is_pair(one) for one in text.split(",") if one.strip()),
            "namespace=catalog, separated by commas",
        ),
        "durable": (bool, lambda _: True, "true or false"),
        "propagate_tags": (bool, lambda _: True, "true or false"),
        "listener": (bool, lambda _: True, "true or false"),
        "enforce_privileges": (bool, lambda _: True, "true or false"),
        "cross_check": (float, lambda share: 0.0 <= share <= 1.0, "a share of statements, 0.0 to 1.0"),
    }
)
