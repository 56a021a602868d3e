"""Sums up finished days with DuckDB: it works out a day of `top_readers` in a quarter of Spark's time.

In: a session, a root. Out: what `audit.store.days.summary` writes. Spark works out what lies where delta-rs
cannot read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING

from audit.query.tables import opened
from audit.spark.arrow import frame_of
from audit.spark.sessions import own_session
from audit.store.days import summary
from audit.store.delta_files import UnsupportedStore

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.clock import Clock


def summarize(
    spark: SparkSession, root: str, clock: Clock, progress: Callable[[str], None] = lambda _said: None
) -> tuple[summary.Summed, ...]:
    """See `audit.store.days.summary.summarize`; `spark` may be any session with Delta."""
    own = own_session(spark)
    return summary.summarize(own, root, clock, rows_of_days(own, root), progress)


def rows_of_days(spark: SparkSession, root: str) -> summary.RowsOfDays:
    """The rows of a view for some days, of the records alone."""
    by_spark = summary.rows_by_spark(spark, root)

    def rows(view: str, days: Sequence[date]) -> DataFrame:
        asked = f"SELECT * FROM account_usage.{view} WHERE {summary.among(days)}"  # noqa: S608 - our own names
        try:
            # Opened each time: it shows what is there now.
            with opened(root, sums=False) as tables:
                found = tables.arrow(asked)
        except UnsupportedStore:
            return by_spark(view, days)
        return frame_of(spark, _in_utc(found))

    return rows


def _in_utc(rows: pa.Table) -> pa.Table:
    """With the zone in the types: a time without one is another type to Spark."""
    import pyarrow as pa

    zoned = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) else field
        for field in rows.schema
    ]
    return rows.cast(pa.schema(zoned))
