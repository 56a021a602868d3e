"""Writes to the spool what happens to the logging itself.

In: an event. Out: an entry of the spool whose row ingest brings into query_history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.identity import Tagging, current_tagging
from audit.record.logging_event import Event, LoggingEvent, event_row

if TYPE_CHECKING:
    from audit.core.clock import Clock
    from audit.core.ids import IdGenerator
    from audit.core.origin import Origin
    from audit.spool import Spool


@dataclass(frozen=True, slots=True)
class LoggingEvents:
    """The events of one driver or command.

    Attributes:
        spool: of the driver or command.
        origin: of this process.
        clock: UTC microseconds.
        ids: gives query ids.
        application_id: Spark's; None for a command.
    """

    spool: Spool
    origin: Origin
    clock: Clock
    ids: IdGenerator
    application_id: str | None = None

    def note(
        self,
        kind: LoggingEvent,
        user: str,
        action: str,
        details: Mapping[str, Any],
        *,
        began: int | None = None,
        session_id: str | None = None,
        tagging: Tagging = Tagging(),  # noqa: B008 - it is frozen
    ) -> None:
        """Write an event, to the disk.

        Args:
            kind: what has happened.
            user: who did it.
            action: the call or the command.
            details: what else there is to say.
            began: UTC microseconds; None: now.
            session_id: Spark's.
            tagging: of the session; `audit.tagged` comes first.

        Raises:
            SpoolError: it could not be written.
        """
        now, query_id = self.clock.now(), self.ids.new()
        start = now if began is None else began
        event = Event(kind, query_id, start, now, user, action, details, session_id, self.application_id)
        row = event_row(event, self.origin, current_tagging().else_of(tagging))
        self.spool.append("G", query_id, {"query": row}, "now")

    @contextmanager
    def pause(self, user: str, action: str) -> Iterator[None]:
        """A block in which nothing is recorded: its begin and its end are.

        Raises:
            SpoolError: the begin could not be written; the block has not run.
        """
        began = self.clock.now()
        self.note("AUDIT_SUPPRESS", user, action, {}, began=began)
        try:
            yield
        finally:
            self.note("AUDIT_RESUME", user, action, {}, began=began)
