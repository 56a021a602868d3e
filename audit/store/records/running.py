"""The start of the oldest running statement, in this driver or another one.

In: a driver's spool, the tables. Out: a time. Statements of other drivers are known by the RUNNING
rows that their ingest has published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.made_tables import exists
from audit.store.tables import QUERY_HISTORY
from lineage.names import sql_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from audit.spool.pending import RunningStatement


def running_since(
    spark: SparkSession, root: str, application_id: str, own: Iterable[RunningStatement]
) -> int | None:
    """The start of the oldest running statement, UTC microseconds; None for none.

    Args:
        spark: a session of the audit's own.
        root: folder of the audit tables.
        application_id: of this driver, whose RUNNING rows are older than what its spool says; "" for none.
        own: the running statements of this driver's spool.
    """
    begun = [int(one.start["start_time"]) for one in own]
    if exists(spark, QUERY_HISTORY, root):
        table = spark.read.format("delta").load(QUERY_HISTORY.location(root))
        others = table.where(
            # `<=>` is safe for nulls: rows without an application id count, too.
            f"execution_status = 'RUNNING' AND NOT application_id <=> {sql_text(application_id)}"
        )
        row = others.selectExpr("unix_micros(min(start_time))").first()
        if row is not None and row[0] is not None:
            begun.append(int(row[0]))
    return min(begun, default=None)
