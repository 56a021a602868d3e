"""One writer at a time on a root of this machine.

In: a session, the folder of a root. Out: a lock that the session's JVM holds while the block runs.

Delta's commits are atomic on HDFS and on object stores. On a local disk they are not, across
processes: HDFSLogStore (Delta 4.4) checks whether the next version exists and then renames onto it,
and rename(2) replaces a file that was created in between: a commit of another driver would be lost without
an error. The JVM holds the lock, not Python: a killed driver's JVM may still be committing, and the
kernel frees the lock only when that JVM is gone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from audit.core.errors import IngestError
from audit.core.file_paths import local_path
from audit.spark.file_lock import JvmFileLock

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

_POLL_SECONDS = 0.02


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
    path = folder / "commit.lock"
    try:
        lock = JvmFileLock(spark, path)
    except OSError as error:
        raise IngestError(
            f"the root {folder} cannot be written ({error})",
            "give this user write permission there; until then the records wait in the spool",
        ) from error
    try:
        _wait_for(lock, path, timeout)
        yield
    finally:
        lock.close()


def _wait_for(lock: JvmFileLock, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while not lock.try_lock():
        if time.monotonic() > deadline:
            raise IngestError(
                f"other processes have written under {path.parent} for {timeout:.0f} seconds",
                f"see which process holds {path} (lsof), and run `audit ingest` when it is done",
            )
        time.sleep(_POLL_SECONDS)
