"""Whether Hadoop knows the file system of a root.

In: a session, a path such as `s3a://bucket/audit`. Out: nothing, or an error that says what is missing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.core.errors import RootUnreachable
from audit.core.file_paths import local_path
from audit.spark import jvm
from audit.spark.java_errors import CALL_ERRORS, java_message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_file_system(spark: SparkSession, root: str) -> None:
    """Ask Hadoop for the file system of a root; nothing is read or written there.

    Raises:
        RootUnreachable: there is none for its scheme, or it cannot be used.
    """
    if local_path(root) is not None:
        return
    view, settings = jvm.view(spark.sparkContext), spark._jsc.hadoopConfiguration()
    try:
        getattr(view, "org.apache.hadoop.fs.Path")(root).getFileSystem(settings)
    except CALL_ERRORS as error:
        scheme = root.partition(":")[0]
        raise RootUnreachable(
            f"Spark cannot use the root {root} ({java_message(error).splitlines()[0]})",
            f"name the jars of {scheme}:// in spark.jars.packages (for s3a org.apache.hadoop:hadoop-aws), and"
            " its settings, or take another root",
        ) from error
