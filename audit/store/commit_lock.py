"""One writer at a time on a root of this machine.

In: a session, the folder of a root. Out: a lock that the session's JVM holds while the block runs.

Delta's commits are atomic on HDFS and on object stores. On a local disk they are not, across
processes: HDFSLogStore (Delta 4.4) looks whether the next version is there and then renames onto it,
and rename(2) replaces what came in between, so that a commit of another driver would be lost without
an error. The JVM holds the lock, not Python: a killed driver's JVM may still be committing, and the
kernel frees the lock only when that JVM is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from audit import jvm
from audit.config import local_path
from audit.errors import IngestError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.02
_BUSY = "OverlappingFileLockException"  # another thread of this JVM has it


@contextmanager
def commit_lock(spark: SparkSession, root: str, timeout: float = 600.0) -> Iterator[None]:
    """Keep every other process from writing the audit tables of a local root; elsewhere do nothing.

    Args:
        spark: its JVM holds the lock.
        root: folder of the audit tables, a Hadoop path.
        timeout: seconds to wait for the others.

    Raises:
        IngestError: the lock file cannot be written, or others held it all the time.
    """
    folder = local_path(root)
    if folder is None:
        yield
        return
    file = _opened(spark, folder / "commit.lock")
    try:
        _take(file.getChannel(), folder / "commit.lock", timeout)
        yield
    finally:
        # Closing the file frees the lock. A context that was stopped in between has freed it already.
        if spark.sparkContext._jsc is not None:
            file.close()


def _opened(spark: SparkSession, path: Path) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return jvm.java_class(spark.sparkContext, "java.io.RandomAccessFile")(str(path), "rw")
    except (OSError, Py4JJavaError) as error:
        cause = error.java_exception.getMessage() if isinstance(error, Py4JJavaError) else error
        raise IngestError(
            f"the root {path.parent} cannot be written ({cause})",
            "give this user write permission there; until then the records wait in the spool",
        ) from error


def _take(channel: Any, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not _locked(channel):
        if time.monotonic() > deadline:
            raise IngestError(
                f"other processes have written under {path.parent} for {timeout:.0f} seconds",
                f"see which process holds {path} (lsof), and run `audit ingest` when it is done",
            )
        time.sleep(_POLL_SECONDS)


def _locked(channel: Any) -> bool:
    from py4j.protocol import Py4JJavaError

    try:
        return channel.tryLock() is not None
    except Py4JJavaError as error:
        # Else this file system has no locks: then Delta is as safe as it is without us.
        return bool(_BUSY not in error.java_exception.getClass().getName())
