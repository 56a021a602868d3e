"""Tables of Spark's catalog with their Delta logs, as a session sees them.

In: names and locations. Out: `Table`, `View`, versions and their times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.spark.delta.catalog_entries import CatalogEntries
from audit.spark.delta.delta_tables import DeltaTables
from audit.spark.delta.past_relations import PastRelations
from audit.spark.delta.table_copies import TableCopies

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class DeltaCatalog(CatalogEntries, DeltaTables, PastRelations, TableCopies):
    """The session catalog and the Delta tables in it, in one session."""

    def within(self, spark: SparkSession) -> DeltaCatalog:
        """The same look-ups in another session."""
        return DeltaCatalog(spark, self._java)

    def kind(self, sql: str) -> str:
        """The class of a text's parsed plan; raises Spark's ParseException."""
        plan = self._session.sessionState().sqlParser().parsePlan(sql)
        return str(plan.getClass().getSimpleName())

    def evaluate(self, sql: str) -> object:
        """The value of a constant expression in this session."""
        rows = self.spark.sql(f"SELECT {sql}").collect()
        return rows[0][0]

    @property
    def warehouse(self) -> str:
        """The folder of all schemas."""
        return str(self.spark.conf.get("spark.sql.warehouse.dir"))

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return str(self.spark.conf.get("spark.sql.session.timeZone"))
