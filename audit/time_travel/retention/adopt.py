"""Adopts existing Delta tables: they get retention and Fail-safe like tables created here, without a copy.

In: a table or a schema. Out: the names of the adopted tables. One commit of properties adopts a table; it is
recorded as the user's ALTER TABLE. No file moves. Delta itself then keeps the files for retention and
Fail-safe, whoever runs VACUUM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table, View
from audit.time_travel.errors import NoHistoryError, UnknownObjectError
from audit.time_travel.retention.table_properties import (
    ADOPTED,
    is_pinned,
    kept_properties,
    owners,
    saved,
)
from lineage.names import quote_name, sql_name, sql_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pyspark.sql import SparkSession

    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.retention.periods import Retention


@dataclass(frozen=True, slots=True)
class Adopter:
    """Adopts tables.

    Attributes:
        spark: the user's session; the ALTER TABLE is recorded in it.
        catalog: look-ups in it.
        retention: the periods in force for a table.
        is_made_here: whether a table at a location was made by this system.
        quiet: what Spark runs inside belongs to no statement.
        changing: a block in which the system sets properties of a table, by its location.
    """

    spark: SparkSession
    catalog: DeltaCatalog
    retention: Callable[[Table, dict[str, str]], Retention]
    is_made_here: Callable[[str], bool]
    quiet: Callable[[], AbstractContextManager[None]]
    changing: Callable[[str], AbstractContextManager[None]]

    def table(self, name: tuple[str, ...]) -> tuple[str, ...]:
        """One table.

        Returns:
            Its fully qualified name; () if it is adopted already.

        Raises:
            UnknownObjectError: there is no such table in the session catalog.
            NoHistoryError: it is not a Delta table.
        """
        with self.quiet():
            found = self.catalog.find(name)
            wanted = None if found is None else self._wanted(found)
        if found is None:
            raise UnknownObjectError(f"there is no table {quote_name(name)} to adopt", "check its name")
        if not isinstance(found, Table) or wanted is None:
            kind = "a view" if isinstance(found, View) else f"a table of {found.provider}"
            raise NoHistoryError(
                f"{quote_name(found.name)} is {kind} and has no versions that could be kept",
                "only Delta tables are adopted; CREATE TABLE … USING delta AS SELECT makes one of it",
            )
        return self._adopted([(found, wanted)])

    def schema(self, name: str) -> tuple[str, ...]:
        """All Delta tables of a schema; views and other tables are skipped.

        Returns:
            The fully qualified names of the tables that were adopted now.

        Raises:
            UnknownObjectError: there is no such schema.
        """
        if self.catalog.schema_facts(name) is None:
            raise UnknownObjectError(f"there is no schema {name}", "check its name")
        with self.quiet():
            found = [(table, self._wanted(table)) for table in self.catalog.tables(name)]
        return self._adopted(
            [(table, wanted) for table, wanted in found if isinstance(table, Table) and wanted is not None]
        )

    def _wanted(self, found: Table | View) -> dict[str, str] | None:
        """The properties that adopt a table: {} if it is adopted, None for other tables than Delta's."""
        if isinstance(found, View) or found.provider != "delta" or found.location is None:
            return None
        if self.catalog.state(found.location) is None:
            return None
        own = self.catalog.properties(found.location, "")
        if ADOPTED in own or self.is_made_here(found.location):
            return {}
        # What the owner has set for Delta's VACUUM stays in force where it is longer.
        given = saved(owners(own, is_kept=False))
        periods = self.retention(found, given)
        # The source of a clone is pinned: it keeps every file already.
        return kept_properties(
            {ADOPTED: "true"}, owners(own, is_kept=False), periods, 0, pinned=is_pinned(own)
        )

    def _adopted(self, found: list[tuple[Table, dict[str, str]]]) -> tuple[str, ...]:
        new = [(table, wanted) for table, wanted in found if wanted]
        for table, wanted in new:
            pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in wanted.items())
            with self.changing(table.location or ""):
                self.spark.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({pairs})")
        return tuple(quote_name(table.name) for table, _ in new)
