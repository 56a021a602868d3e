"""`backup_history`: the Delta table of all events of backups, beside the audit tables.

In: events. Out: the `BackupState` that they lead to. A DELETE BACKUP and an ADD LEGAL HOLD of two drivers are
decided one after the other: see `SerialLog`.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timezone
from typing import TYPE_CHECKING, Any

from audit.core.clock import to_micros
from audit.spark.delta.serial_log import SerialLog
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import COLUMNS, NAME, BackupEvent, event_from, row_of
from audit.time_travel.backups.model.state import BackupState
from audit.time_travel.errors import BackupConflictError

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession


class BackupLog(SerialLog[BackupState, BackupEvent]):
    """The table under a root.

    Args:
        session: a session of the system's own, which is not audited.
        root: of the audit tables, a Hadoop path.
    """

    conflict = BackupConflictError

    def __init__(self, session: SparkSession, root: str) -> None:
        super().__init__(session, root, NAME, COLUMNS, BackupState())

    def _after(self, events: Sequence[BackupEvent], state: BackupState) -> BackupState:
        return state_after(events, state)

    def _row_of(self, number: int, event: BackupEvent) -> tuple[Any, ...]:
        return row_of(number, event)

    def _event_of(self, row: Row) -> BackupEvent:
        # PySpark (4.2) gives a TIMESTAMP as a naive datetime in the process' zone, which astimezone expects.
        moment = to_micros(row.event_time.astimezone(timezone.utc))
        return event_from(moment, lambda name: getattr(row, name))
