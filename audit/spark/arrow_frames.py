"""A DataFrame of an Arrow table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows, all of which go through the driver's JVM."""
    # PySpark (4.2) takes no table without chunks.
    return spark.createDataFrame(rows if len(rows) else rows.schema.empty_table())
