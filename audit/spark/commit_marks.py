"""Commits that know their statement: each write of Delta carries the query id in its `userMetadata`.

In: a session. Out: nothing; from then on Delta marks what it commits there with the statement that its thread
runs, as the job tag says (`audit.spark.pyspark_api.job_tags`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.spark import java_classes, jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def install_commit_marks(spark: SparkSession) -> None:
    """Have Delta mark what it commits in a session. Safe to call twice."""
    java_classes.instance(jvm.view(spark.sparkContext), "capture.CommitMarks").install(spark._jsparkSession)
