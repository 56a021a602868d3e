"""The session that the audit itself works in.

In: any session. Out: one of its own, with the settings that its small tables want and nobody else does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit import jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Delta reads a table's state in 50 tasks; the audit tables have few files. What replaces RUNNING rows holds
# more than it replaces, which Delta would refuse. Files of 64 MiB are left as they are by OPTIMIZE, so
# that a day is not rewritten whole again and again (default 1 GiB). A filter inferred from `inline` would
# parse each record's JSON a second time.
OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.maxPartitionBytes": str(32 << 20),
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.InferFiltersFromGenerate",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false",
    "spark.databricks.delta.optimize.minFileSize": str(64 << 20),
}


def own_session(spark: SparkSession) -> SparkSession:
    """A new session beside `spark`, with the audit's settings."""
    session = spark.newSession()
    for key, value in OWN.items():
        session.conf.set(key, value)
    session.conf.set(jvm.EXEMPT, jvm.SECRET)
    return session
