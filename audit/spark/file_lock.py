"""A lock on a file of this machine, held by the JVM.

In: a session, a path. Out: a `JvmFileLock`. The kernel frees it when that JVM is gone, not when Python is.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from audit.spark.java_errors import JVM_ERRORS, java_class_name, java_message
from audit.spark.jvm import java_class
from audit.spark.sessions import is_running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HELD_BY_THREAD = "OverlappingFileLockException"  # another thread of this JVM holds it


class JvmFileLock:
    """A file opened by the JVM, to be locked.

    Args:
        spark: whose JVM opens it.
        path: of the file, which is created where it is missing.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, spark: SparkSession, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._context = spark.sparkContext
        try:
            # Not FileChannel.open: its variable arguments need an array of Java's, one more call.
            self._file = java_class(self._context, "java.io.RandomAccessFile")(str(path), "rw")
        except JVM_ERRORS as error:
            raise OSError(java_message(error)) from error

    def try_lock(self) -> bool:
        """Whether the lock is held now; False where another process or thread holds it."""
        try:
            # A lock of Java's (fcntl) belongs to the process: it is freed with the JVM, however that ends.
            return self._file.getChannel().tryLock() is not None
        except JVM_ERRORS as error:
            # Else this file system has no locks: then Delta is as safe as it is without us.
            return _HELD_BY_THREAD not in java_class_name(error)

    def close(self) -> None:
        """Free the lock. A context that was stopped in between has freed it already."""
        if is_running(self._context):
            self._file.close()
