"""Tables that were there before: adopted, they are kept as those that are made here, with no copy.

In: a table or a schema. Out: the names of what was adopted. A table under the rule is read back as far as its
retention period says, and its files outlive that by Fail-safe, whoever calls VACUUM. One commit does it, of
properties alone, on record as the user's ALTER TABLE; no file moves, and no other reader or writer notices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.names import quote_name, sql_name, sql_text
from time_travel.errors import NoHistoryError, UnknownObjectError
from time_travel.lake import Table, View
from time_travel.retention import ADOPTED, delta_properties

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from time_travel.lake import Lake
    from time_travel.retention import Retention


@dataclass(frozen=True, slots=True)
class Adopter:
    """Adopts tables.

    Attributes:
        spark: the user's session: what is done in it is on record.
        lake: look-ups in it.
        retention: the periods in force for a table.
        is_under_rule: whether a table is kept by this system.
    """

    spark: SparkSession
    lake: Lake
    retention: Callable[[Table], Retention]
    is_under_rule: Callable[[Table], bool]

    def table(self, name: tuple[str, ...]) -> tuple[str, ...]:
        """One table.

        Returns:
            Its fully qualified name; () where it is under the rule already.

        Raises:
            UnknownObjectError: there is no such table in the session catalog.
            NoHistoryError: it is none of Delta's.
        """
        found = self.lake.find(name)
        if found is None:
            raise UnknownObjectError(f"there is no table {quote_name(name)} to adopt", "check its name")
        if not self._is_deltas(found):
            kind = "a view" if isinstance(found, View) else f"a table of {found.provider}"
            raise NoHistoryError(
                f"{quote_name(found.name)} is {kind} and has no versions that could be kept",
                "only Delta tables are adopted; CREATE TABLE … USING delta AS SELECT makes one of it",
            )
        return self._adopted([found])

    def schema(self, name: str) -> tuple[str, ...]:
        """The Delta tables of a schema; its views and other tables are passed over.

        Returns:
            The fully qualified names of those that were adopted.

        Raises:
            UnknownObjectError: there is no such schema.
        """
        if self.lake.schema_facts(name) is None:
            raise UnknownObjectError(f"there is no schema {name}", "check its name")
        return self._adopted([found for found in self.lake.tables(name) if self._is_deltas(found)])

    def _is_deltas(self, found: Table | View) -> bool:
        if isinstance(found, View) or found.provider != "delta" or found.location is None:
            return False
        return self.lake.state(found.location) is not None

    def _adopted(self, found: list[Table | View]) -> tuple[str, ...]:
        tables = [table for table in found if isinstance(table, Table) and not self.is_under_rule(table)]
        for table in tables:
            own = self.lake.properties(table.location or "", "")
            wanted = {ADOPTED: "true", **self.lake.longer(delta_properties(self.retention(table)), own)}
            pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in wanted.items())
            self.spark.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({pairs})")
        return tuple(quote_name(table.name) for table in tables)
