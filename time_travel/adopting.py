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
from time_travel.retention import ADOPTED, delta_properties, is_pinned, lasting, of_owner

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

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
        is_made_here: whether a table at a location was made by this system.
        quiet: what Spark runs inside belongs to no statement.
    """

    spark: SparkSession
    lake: Lake
    retention: Callable[[Table], Retention]
    is_made_here: Callable[[str], bool]
    quiet: Callable[[], AbstractContextManager[None]]

    def table(self, name: tuple[str, ...]) -> tuple[str, ...]:
        """One table.

        Returns:
            Its fully qualified name; () where it is under the rule already.

        Raises:
            UnknownObjectError: there is no such table in the session catalog.
            NoHistoryError: it is none of Delta's.
        """
        with self.quiet():
            found = self.lake.find(name)
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
        """The Delta tables of a schema; its views and other tables are passed over.

        Returns:
            The fully qualified names of those that were adopted.

        Raises:
            UnknownObjectError: there is no such schema.
        """
        if self.lake.schema_facts(name) is None:
            raise UnknownObjectError(f"there is no schema {name}", "check its name")
        with self.quiet():
            found = [(table, self._wanted(table)) for table in self.lake.tables(name)]
        return self._adopted(
            [(table, wanted) for table, wanted in found if isinstance(table, Table) and wanted is not None]
        )

    def _wanted(self, found: Table | View) -> dict[str, str] | None:
        """What brings a table under the rule: no properties where it is, None for what is none of Delta's."""
        if isinstance(found, View) or found.provider != "delta" or found.location is None:
            return None
        if self.lake.state(found.location) is None:
            return None
        own = self.lake.properties(found.location, "")
        if ADOPTED in own or self.is_made_here(found.location):
            return {}
        # A clone's source keeps every file already.
        wanted = {} if is_pinned(own) else delta_properties(self.retention(found))
        longer = of_owner(wanted, own)
        return {ADOPTED: "true", **longer, **lasting(wanted, longer)}

    def _adopted(self, found: list[tuple[Table, dict[str, str]]]) -> tuple[str, ...]:
        new = [(table, wanted) for table, wanted in found if wanted]
        for table, wanted in new:
            pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in wanted.items())
            self.spark.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({pairs})")
        return tuple(quote_name(table.name) for table, _ in new)
