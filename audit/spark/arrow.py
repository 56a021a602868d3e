"""Arrow's types for Spark's, as the tables of the audit have them, and a DataFrame of an Arrow table."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from lineage.types import element_type, simple_type, struct_fields

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SIMPLE = {
    "STRING": pa.string(),
    "BIGINT": pa.int64(),
    "INT": pa.int32(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.binary(),
    # Without a zone Parquet's type would be Spark's TIMESTAMP_NTZ.
    "TIMESTAMP": pa.timestamp("us", "UTC"),
}


@cache
def arrow_type(kind: str) -> pa.DataType:
    """The type for one of Spark's.

    >>> print(arrow_type("ARRAY<STRUCT<a: BIGINT, b: STRING>>"))
    list<element: struct<a: int64, b: string>>

    Raises:
        KeyError: no table of the audit has it.
    """
    kind = simple_type(kind)
    element, fields = element_type(kind), struct_fields(kind)
    if element is not None:
        return pa.list_(pa.field("element", arrow_type(element)))
    if fields:
        return pa.struct([pa.field(name, arrow_type(inner)) for name, inner in fields])
    return _SIMPLE[kind.upper()]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece: Arrow takes lists from one alone."""
    # Of some versions it is chunked still.
    whole = column.combine_chunks()
    chunks = whole.chunks if isinstance(whole, pa.ChunkedArray) else [whole]
    return pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def frame_of(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """The rows, all of which go through the driver's JVM."""
    # PySpark (4.2) takes no table without chunks.
    return spark.createDataFrame(rows if len(rows) else rows.schema.empty_table())
