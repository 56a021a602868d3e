"""The parts of records (`audit.spool.parts`), and whose columns they are.

Each is parsed once, however many records of a batch name it.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.evidence.bound_tables import GROUPS
from audit.spool.parts import ANALYSIS, OBJECTS, TEXT
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable


@dataclass(frozen=True, slots=True)
class Shared:
    """A part that has columns of a row.

    Attributes:
        name: of the member of a record that names the part.
        table: whose row it is.
        group: of the table's columns.
    """

    name: str
    table: AuditTable
    group: str

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that it may have, in the order of the table."""
        return GROUPS[self.table.name][self.group]


SHARED = (
    Shared(TEXT.name, QUERY_HISTORY, "text"),
    Shared(OBJECTS.name, ACCESS_HISTORY, "objects"),
    Shared(ANALYSIS.name, ACCESS_HISTORY, "analysis"),
)
