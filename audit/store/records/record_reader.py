"""Reads the audit tables of one root, after all waiting records are ingested.

In: a root, and a function that ingests waiting records. Out: DataFrames.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.store.tables import AuditTable


@dataclass(frozen=True, slots=True)
class RecordReader:
    """Reads the tables by path.

    Attributes:
        spark: a session of the audit's own.
        root: folder of the tables, a Hadoop path.
        flush: returns when everything recorded so far is in the tables; raises IngestError.
    """

    spark: SparkSession
    root: str
    flush: Callable[[], None]

    def rows(self, table: AuditTable) -> DataFrame:
        """The rows of a table, as of the last flush."""
        return self.spark.read.format("delta").load(table.location(self.root))
