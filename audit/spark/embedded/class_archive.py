"""A class-data archive for the embedded session's JVM: its classes come out of one mapped file.

In: this Java, Spark's jars, Delta's jars. Out: a file in the cache folder, for exactly these; the JVM of
`audit.spark.embedded.spark` uses it where it is there. Source: JEP 350, dynamic archives, Java 13 and
later. The JVM checks by itself that Java and the class path are the ones that made the archive, and starts
without it where they are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.find_spark_home import _find_spark_home

from audit.core.errors import ClassArchiveError
from audit.spark.embedded import jars, java

if TYPE_CHECKING:
    from subprocess import Popen


def locate(environ: Mapping[str, str], delta: Iterable[Path]) -> Path:
    """Where the archive lies, or would lie: its name stands for Java and every jar, so that none is stale.

    Takes 3 ms: it looks at names, sizes and times alone, as the JVM does.

    Raises:
        JavaNotFound: there is no Java.
    """
    executable = java.locate(environ)[0].resolve()
    spark = Path(_find_spark_home()) / "jars"
    files = [executable, executable.parent.parent / "release", *sorted(spark.glob("*.jar")), *delta]
    digest = hashlib.sha256()
    for path in files:
        stat = path.stat() if path.exists() else None
        digest.update(repr((str(path), stat and (stat.st_size, stat.st_mtime_ns))).encode())
    return jars.cache_dir(environ) / f"classes-{digest.hexdigest()[:20]}.jsa"


def dump_option(part: Path) -> str:
    """The Java option that has the JVM write the archive when it ends."""
    return f'"-XX:ArchiveClassesAtExit={part}"'


def keep(process: Popen[bytes], part: Path, target: Path, log: Path) -> None:
    """End the JVM, wait for its archive, and put that in its place.

    Args:
        process: the JVM, started with `dump_option(part)`; it ends when its standard input does.
        part: what the JVM writes.
        target: as `locate` says.
        log: where the JVM says why it did not.

    Raises:
        ClassArchiveError: there is no archive; a session starts without it.
    """
    process.communicate()
    try:
        part.replace(target)
    except OSError as error:
        raise ClassArchiveError(
            f"Java did not write the class archive {part} ({error}); {log} says why",
            "free 250 MB there, or do without: a session starts as it did, only slower",
        ) from error
