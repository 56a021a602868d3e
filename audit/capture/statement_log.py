"""START and END of a session's statements, on disk before and after they run.

In: a `StatementRequest`, and how the call ended. Out: entries of the spool, and a `Job` for the worker.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.errors import SpoolClosedError, SpoolError
from audit.core.identity import current_identity, current_parent, current_tagging
from audit.record.access_record import Ended, Started, issued

if TYPE_CHECKING:
    from audit.analysis.work_items import StatementRequest
    from audit.core.identity import Identity, Tagging
    from audit.recorder import Recorder
    from audit.services import Services
    from audit.spool import Durability, Kind


def _folded(role: str | None) -> str | None:
    """As SHOW GRANTS and current_role() name a role that a session was given."""
    return None if role is None else role.upper()


@dataclass(frozen=True, slots=True)
class StatementLog:
    """Writes the starts and ends of one session's statements to the spool.

    Attributes:
        session_id: Spark's.
        identity: the user of its statements, unless `as_user` names another one.
        services: of its application.
        recorder: of its application.
    """

    session_id: str
    identity: Identity
    services: Services
    recorder: Recorder

    def start(
        self, request: StatementRequest, current_schema: tuple[str, str], tagging: Tagging
    ) -> Started | None:
        """Write the START of a statement; None if the session was detached meanwhile.

        Args:
            request: what is about to run.
            current_schema: of the session, with its catalog.
            tagging: of the session; `audit.tagged` comes first.

        Raises:
            SpoolUnavailableError: it could not be written, and `on_record_failure` is "block".
        """
        # Here, and nowhere later: what is on disk once has been told.
        started = self.services.redaction.started(self._started(request, *current_schema, tagging))
        try:
            # A change is synced to disk before it runs, a query before its result is returned
            # (`Spool.confirm`).
            self._append("S", started.query_id, started.to_dict(), "soon" if request.is_reading else "now")
        except SpoolClosedError:
            return None
        return started

    def end(self, started: Started, ended: Ended, request: StatementRequest) -> Ended:
        """Write the END of a statement; returns it as it is on record.

        Args:
            started: what `start` has returned.
            ended: how it ended.
            request: the true text and its values, which an error may quote.

        Warns:
            UserWarning: it could not be written; the statement has run, and its START is on disk.
        """
        ended = self.services.redaction.ended(ended, request.text, request.arguments)
        try:
            # Not synced: if a power cut loses the END, recovery records the statement as INCOMPLETE.
            self._append("E", started.query_id, ended.to_dict(), "soon")
        except SpoolError as error:
            warnings.warn(f"{error} The end of {started.query_id} is not on record.", stacklevel=5)
        return ended

    def _append(self, kind: Kind, query_id: str, payload: dict[str, Any], durability: Durability) -> None:
        self.recorder.spool.append(
            kind, query_id, payload, durability if self.services.config.durable else "later"
        )

    def _started(self, request: StatementRequest, catalog: str, schema: str, tagging: Tagging) -> Started:
        identity, parent = current_identity(self.identity), request.parent or current_parent()
        services = self.services
        now = services.clock()
        started = Started(
            query_id=services.new_id(),
            start_time=now,
            user_name=identity.user,
            query_text=request.text,
            query_type=request.query_type,
            action=request.action,
            is_sql=request.statement is not None,
            role_name=services.policies.role_in_use(self.session_id, identity.user) or _folded(identity.role),
            database_name=catalog,
            schema_name=schema,
            parent_query_id=parent.parent_query_id if parent else None,
            root_query_id=parent.root_query_id if parent else None,
            session_id=self.session_id,
            application_id=services.application_id,
            objects_tried=request.objects_tried,
        )
        return issued(started, services.origin, current_tagging().else_of(tagging))
