"""The tables whose rows the log of digests binds: the audit tables, and those of events.

In: rows of one of them. Out: what an entry says of these, for each of their days.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from audit.evidence.entries import Part, fingerprint
from audit.evidence.leaves import leaves_of
from audit.evidence.row_texts import groups, own_columns, row_texts
from audit.policies.model.events import COLUMNS as GOVERNANCE_COLUMNS
from audit.policies.model.events import NAME as GOVERNANCE
from audit.store.later_tables import IMPORTED_EVENTS, IMPORTED_LINEAGE
from audit.store.tables import (
    ACCESS_HISTORY,
    AUDIT_TABLES,
    DATA_QUALITY,
    DIGESTS,
    LINEAGE_TABLES,
    QUERY_HISTORY,
)
from audit.time_travel.backups.model.events import COLUMNS as BACKUP_COLUMNS
from audit.time_travel.backups.model.events import NAME as BACKUPS
from audit.time_travel.dropped.drop_registry import COLUMNS as OBJECT_COLUMNS
from audit.time_travel.dropped.drop_registry import NAME as OBJECTS

if TYPE_CHECKING:
    import pyarrow as pa

    from audit.evidence.row_texts import Columns, Repeated, Rows


OF_STATEMENT = ("query_id", "query_start_time", "user_name", "query_type")
"""The columns of an edge that tell of its statement."""

GROUPS: dict[str, dict[str, tuple[str, ...]]] = {
    QUERY_HISTORY.name: {
        "text": (
            "query_text", "query_type", "role_name", "database_name", "schema_name", "query_hash",
            "query_parameterized_hash", "parent_query_id", "root_query_id", "objects_tried", "action",
            "session_id", "application_id", "query_tag", "purpose", "client_address", "client_host",
            "client_program", "client_version", "os_user",
        ),
    },
    ACCESS_HISTORY.name: {
        "objects": (
            "direct_objects_accessed", "base_objects_accessed", "objects_modified", "object_modified_by_ddl",
            "policies_referenced",
        ),
        "analysis": (
            "session_id", "application_id", "captured_by", "analysis", "analysis_reason", "object_versions",
        ),
    },
    **{
        table.name: {"edge": tuple(name for name, _, _ in table.columns if name not in OF_STATEMENT)}
        for table in LINEAGE_TABLES
    },
}  # fmt: skip
"""By table: columns that repeat from row to row, in groups.

A statement that ran before reads the same objects. The text of a row has one hash for all of a group
(`audit.evidence.row_texts`), so that ingest makes and hashes once what repeats. Which they are stands in the
log with the columns; another choice is another COLUMNS entry.
"""


@dataclass(frozen=True, slots=True)
class BoundTable:
    """A table.

    Attributes:
        name: of its folder.
        columns: name, type and meaning; not the day, which is made of the time.
        key: the column by which rows are known; rows of one key are written together.
        time: of the day that it is partitioned on; "" for none.
    """

    name: str
    columns: Sequence[tuple[str, str, str]]
    key: str = "event_id"
    time: str = ""

    @property
    def counted(self) -> Columns:
        """The columns that a row's text is made of: all, those of `GROUPS` behind the others."""
        kinds = {name: kind for name, kind, _ in self.columns}
        some = {
            group: [(name, kinds.pop(name)) for name in names]
            for group, names in GROUPS.get(self.name, {}).items()
        }
        return [*kinds.items(), *some.items()]

    def parts(self, rows: Rows) -> Iterator[Part]:
        """What an entry says of rows, for each of their days.

        Args:
            rows: with all columns; what repeats is known of all groups, or of none.
        """
        from pyarrow import compute

        if not len(rows.table):
            return
        made = rows.table if rows.statements is None else rows.statements
        if rows.repeated:  # no column of theirs is looked at in the rows
            listed = [name for name, _ in own_columns(self.counted)]
            made = made.select([*listed, *(one.index for one in rows.repeated.values())])
        if not self.time:
            yield self._part("", len(rows.table), made, rows.repeated)
            return
        days = compute.cast(made[self.time], "date32")
        counted = compute.value_counts(compute.cast(rows.table[self.time], "date32")).to_pylist()
        for day, count in sorted((one["values"], one["counts"]) for one in counted):
            yield self._part(day.isoformat(), count, made.filter(compute.equal(days, day)), rows.repeated)

    def _part(self, day: str, count: int, rows: pa.Table, repeated: Mapping[str, Repeated]) -> Part:
        counted = self.counted
        texts = row_texts(rows, counted, repeated)
        leaves = leaves_of(rows[self.key].to_pylist(), texts, has_groups=bool(groups(counted)))
        return Part(self.name, day, fingerprint(counted), replace(leaves, rows=count))


EVENT_TABLES = (
    BoundTable(GOVERNANCE, GOVERNANCE_COLUMNS),
    BoundTable(OBJECTS, OBJECT_COLUMNS),
    BoundTable(BACKUPS, BACKUP_COLUMNS),
    BoundTable(DATA_QUALITY.name, DATA_QUALITY.columns, "run_id", DATA_QUALITY.time),
    BoundTable(IMPORTED_EVENTS.name, IMPORTED_EVENTS.columns, "event_id", IMPORTED_EVENTS.time),
    BoundTable(IMPORTED_LINEAGE.name, IMPORTED_LINEAGE.columns, "edge_id", IMPORTED_LINEAGE.time),
)
"""Statements write them by themselves; ingest binds them afterwards."""
BOUND_TABLES = {
    one.name: one
    for one in (
        *(BoundTable(table.name, table.columns, "query_id", table.time) for table in AUDIT_TABLES),
        *EVENT_TABLES,
    )
}
"""All of them, by name."""
BOUND_ELSEWHERE = (DIGESTS.name, GOVERNANCE, OBJECTS, BACKUPS)
"""What a check reads beside the audit tables: the log, and tables of events that no view names."""
