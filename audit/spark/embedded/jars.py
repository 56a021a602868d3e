"""Delta's jars on this machine: found or fetched once, checked by sha256, then only looked at.

In: `jars.lock` (what is needed), the environment (where to keep it and where to get it). Out: paths
for Spark's class path. Any number of processes may resolve at once: each writes a file of its own and
renames it into place.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import partial
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.errors import JarCacheUnwritable, JarCorrupt, JarUnavailable

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAVEN_CENTRAL = "https://repo1.maven.org/maven2"
TIMEOUT_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar by its Maven coordinates, its sha256 in hexadecimal and its size in bytes."""

    group: str
    artifact: str
    version: str
    sha256: str
    bytes: int
    classifier: str = ""

    @property
    def name(self) -> str:
        """The file's name.

        >>> Jar("io.delta", "delta-storage", "4.4.0", "", 0).name
        'delta-storage-4.4.0.jar'
        >>> Jar("org.apache.spark", "spark-sql_2.13", "4.2.0", "", 0, "tests").name
        'spark-sql_2.13-4.2.0-tests.jar'
        """
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @property
    def maven_path(self) -> str:
        """Where a Maven repository keeps it.

        >>> Jar("io.delta", "delta-storage", "4.4.0", "", 0).maven_path
        'io/delta/delta-storage/4.4.0/delta-storage-4.4.0.jar'
        """
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.name}"


def locked() -> tuple[Jar, ...]:
    """The jars that `jars.lock` names."""
    return read_lock((resources.files("audit.spark.embedded") / "jars.lock").read_text(encoding="utf-8"))


def read_lock(text: str) -> tuple[Jar, ...]:
    """The jars of a lock file."""
    return tuple(Jar(**jar) for jar in tomllib.loads(text)["jar"])


def cache_dir(environ: Mapping[str, str]) -> Path:
    """AUDIT_JARS_DIR, else `spark-access-history/jars` in the user's cache folder.

    >>> cache_dir({"AUDIT_JARS_DIR": "/opt/jars"}).as_posix()
    '/opt/jars'
    >>> cache_dir({"XDG_CACHE_HOME": "/c"}).as_posix()
    '/c/spark-access-history/jars'
    """
    if chosen := environ.get("AUDIT_JARS_DIR"):
        return Path(chosen).expanduser()
    base = environ.get("XDG_CACHE_HOME") or environ.get("LOCALAPPDATA") or _home(environ) / ".cache"
    return Path(base) / "spark-access-history" / "jars"


def resolve(
    environ: Mapping[str, str],
    jars: tuple[Jar, ...] | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> tuple[Path, ...]:
    """The path of every jar, in `jars.lock`'s order, fetched where it is missing.

    Looks in the cache folder, then in `~/.m2` and `~/.ivy2*`, then downloads from AUDIT_MAVEN_URL
    (default Maven Central), through the proxy that HTTPS_PROXY names.

    Args:
        environ: the environment variables.
        jars: what to resolve; by default what `jars.lock` names.
        say: told one line about each jar that was not in the cache.

    Raises:
        JarUnavailable: not on this machine and not to be fetched (offline, 404, unwritable cache).
        JarCorrupt: the download does not have the sha256 of the lock file.
    """
    return tuple(_resolve(jar, environ, say) for jar in (locked() if jars is None else jars))


def is_intact(jar: Jar, path: Path) -> bool:
    """Whether the file is there and is, byte by byte, the jar (10 ms for Delta's two)."""
    try:
        return path.stat().st_size == jar.bytes and sha256_of(path) == jar.sha256
    except OSError:
        return False


def _resolve(jar: Jar, environ: Mapping[str, str], say: Callable[[str], None]) -> Path:
    target = cache_dir(environ) / jar.name
    if is_intact(jar, target):
        return target
    for found in _local_copies(jar, environ):
        if is_intact(jar, found):
            say(f"{jar.name}: copied from {found}")
            return _install(jar, target, partial(shutil.copyfile, found))
    url = f"{environ.get('AUDIT_MAVEN_URL', MAVEN_CENTRAL).rstrip('/')}/{jar.maven_path}"
    say(f"{jar.name}: fetching {url} ({jar.bytes / 1e6:.1f} MB)")
    return _install(jar, target, partial(_download, jar, url, target))


def _local_copies(jar: Jar, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where Maven and Ivy keep jars; Spark 4's own Ivy folder is `.ivy2.5.2`."""
    home = _home(environ)
    # Maven's local repository, then Ivy's cache, which Spark's --packages fills.
    yield home / ".m2" / "repository" / jar.maven_path
    for ivy in sorted(home.glob(".ivy2*")):
        yield ivy / "cache" / jar.group / jar.artifact / "jars" / jar.name
        yield ivy / "jars" / f"{jar.group}_{jar.name}"


def _install(jar: Jar, target: Path, write: Callable[[Path], object]) -> Path:
    """Write beside the target, then rename: a reader sees the whole jar or none."""
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder: the rename is atomic, and two processes cannot mix their bytes.
        handle, name = tempfile.mkstemp(prefix=f".{jar.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
        part = Path(name)
        try:
            write(part)
            part.chmod(0o644)  # mkstemp makes it the owner's alone; a cache may be shared
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise JarCacheUnwritable(
            f"cannot write {target} ({error})", "set AUDIT_JARS_DIR to a folder that you may write"
        ) from error
    return target


def _download(jar: Jar, url: str, target: Path, part: Path) -> None:
    by_hand = f"or put the file at {target} yourself (sha256 {jar.sha256})"
    try:
        # An http(s) or file URL of the user's own choosing, and the sha256 decides on what it gives.
        with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer, part.open("wb") as out:  # noqa: S310
            shutil.copyfileobj(answer, out)
    except (OSError, ValueError) as error:  # URLError, timeouts, connection resets; ValueError: not a URL
        if isinstance(error, urllib.error.HTTPError):
            error.close()  # it is the answer as well, with an open socket
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise JarUnavailable(
            f"cannot fetch {jar.name} from {url} ({reason})",
            "run `audit setup` with a network (HTTPS_PROXY is honoured), set AUDIT_MAVEN_URL to a mirror of "
            f"Maven Central, {by_hand}",
        ) from error
    actual = sha256_of(part)
    if actual != jar.sha256:
        raise JarCorrupt(
            f"{url} gave {part.stat().st_size} bytes with sha256 {actual} for {jar.name}, but "
            f"{jar.sha256} is locked, so nothing was kept",
            f"a proxy or mirror altered it: set AUDIT_MAVEN_URL to another one, {by_hand}",
        )


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def _home(environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME") or environ.get("USERPROFILE")
    return Path(home) if home else Path.home()
