"""One audited Spark application under one root: opens and closes the services that its sessions share.

In: a SparkContext, a configuration. Out: audited sessions, until the last one is released.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

from audit.capture.audited_session import AuditedSession
from audit.capture.logging_events import LoggingEvents
from audit.core.config import OF_A_SESSION, configuration
from audit.core.errors import RecordLossWarning
from audit.core.guard import attempt
from audit.core.identity import Identity, acting, current_identity
from audit.policies import attached as governed
from audit.recorder import Recorder
from audit.services import build
from audit.spark import sessions
from audit.spool import Spool
from audit.spool.home import changed_configuration, claim_home
from audit.time_travel import attached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock
    from audit.core.config import Config
    from audit.core.identity import Tagging
    from audit.core.ids import IdGenerator
    from audit.exchange.live.thread import SendingThread
    from audit.record.logging_event import LoggingEvent


class Application:
    """Services and recorder of one application and root, and its attached sessions.

    Args:
        spark: the first of them.
        config: of the root.
        clock: UTC microseconds.
        ids: gives query ids.
        former: roots that this process has detached from.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: Config,
        clock: Clock,
        ids: IdGenerator,
        former: Collection[str] = (),
    ) -> None:
        claim_home(config)
        spool = Spool.open(
            config.spool_home,
            application_id=str(spark.sparkContext.applicationId),
            clock=clock,
            ids=ids,
            on_record_failure=config.on_record_failure,
            max_bytes=config.spool_max_bytes,
        )
        self.services = build(spark, config, clock, ids, flush=self.flush, running=spool.running)
        # Now, while the disk takes it: a statement whose text is redacted must not wait for it.
        assert self.services.redaction.key  # noqa: S101
        self.recorder = Recorder(self.services, spool, clock, former)
        self._sending = _sending(config, clock)
        self._events = LoggingEvents(spool, self.services.origin, clock, ids, self.services.application_id)
        self._attached: dict[str, AuditedSession] = {}
        self._closing = threading.Lock()
        # A program that ends without detach still gets its records ingested.
        atexit.register(self.close)

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, with its last session or its SparkContext."""
        return self.services.sessions.is_closed

    def attach(self, spark: SparkSession, identity: Identity, tagging: Tagging) -> AuditedSession:
        """Audit a session of this application until it is released."""
        session = self.adopt(spark, identity, tagging)
        if acting() is None:
            thread = self.services.enforcer.thread
            thread.set(thread.of_session(session.session_id))
        self._attached[session.session_id] = session
        config = self.services.config
        found = configuration(config)
        shared = {name: value for name, value in found.items() if name not in OF_A_SESSION}
        if config.sources["admins"] == "default":
            shared["admins"] = ""  # whoever attaches
        if changed := changed_configuration(config.spool_home, shared):
            self._note("AUDIT_CONFIGURE", session, "audit.attach", changed)
        self._note("AUDIT_ATTACH", session, "audit.attach", found)
        return session

    def pause(self, action: str) -> AbstractContextManager[None]:
        """A block in which this thread records nothing, which is on record itself."""
        who = current_identity(Identity(self.services.config.user))
        return self._events.pause(who.user, action)

    def _note(
        self, kind: LoggingEvent, session: AuditedSession, action: str, details: Mapping[str, Any]
    ) -> None:
        self._events.note(
            kind,
            session.identity.user,
            action,
            details,
            session_id=session.session_id,
            tagging=session.given_tagging,
        )

    def _note_end(self, session: AuditedSession, action: str) -> None:
        """A session is attached no longer; its audit ends, whether the disk takes that or not."""

        def failed(error: Exception) -> None:
            warnings.warn(f"the end of the audit is not on record: {error}", RecordLossWarning, stacklevel=5)

        attempt(lambda: self._note("AUDIT_DETACH", session, action, {}), failed)

    def adopt(self, spark: SparkSession, identity: Identity, tagging: Tagging) -> AuditedSession:
        """Audit a session as long as it is used and one is attached."""
        session = self._bound(AuditedSession(spark, identity, self.services, self.recorder, tagging=tagging))
        # Clones of the session in the JVM, as foreachBatch has one, are found by the mark.
        self.services.enforcer.marks.set(spark, session.session_id)
        self.services.policies.install(spark, session.session_id, identity.user, identity.roles)
        return session

    def session(self, session_id: str) -> AuditedSession | None:
        """The audited session of an id of Spark's."""
        found = self.services.sessions.find(session_id)
        return found if isinstance(found, AuditedSession) else None

    def find(self, spark: SparkSession) -> AuditedSession | None:
        """The audited side of a session that was attached, or cloned from one in the JVM."""
        parent = self.session(self.services.enforcer.marks.of(spark))
        if parent is None or parent.is_busy():
            # Inside a statement the clone is one of the audit's own, which no statement of a user's sees.
            return parent
        jvm_id = sessions.session_id(spark)
        if jvm_id == parent.jvm_id:
            spark.__dict__["_audit"] = parent
            return parent
        # A stream gives each micro-batch another object of Python's for the same clone (PySpark 4.2).
        clone = self.session(jvm_id)
        if clone is None:
            return self._bound(parent.of_clone(spark))
        spark.__dict__["_audit"] = clone
        return clone

    def _bound(self, session: AuditedSession) -> AuditedSession:
        """The same, known to its Python object and to the application."""
        self.services.sessions.add(session)
        session.spark.__dict__["_audit"] = session
        attached.bind(session.spark, self.services.time_travel)
        governed.bind(session.spark, self.services.policies)
        return session

    def release(self, session: AuditedSession) -> None:
        """Stop auditing a session and its clones; the last one closes the application."""
        if self._attached.pop(session.session_id, None) is not None:
            self._note_end(session, "audit.detach")
        for known in self._sessions_in_use():
            if known.session_id == session.session_id:
                self.services.sessions.discard(known.jvm_id)
                if sessions.is_running(known.spark.sparkContext):
                    self.services.enforcer.marks.set(known.spark, "")
                _forget(known.spark)
        if not self._attached:
            self.close()

    def flush(self) -> None:
        """See `Recorder.flush`."""
        self.recorder.flush()

    def close(self, action: str = "exit") -> None:
        """Finish and ingest the records, and free the spool; it can be called twice.

        Args:
            action: what ends it: "exit", or the call.
        """
        with self._closing:
            if self.is_closed:
                return
            self.services.sessions.close()
        atexit.unregister(self.close)
        for session in self._attached.values():
            self._note_end(session, action)
        with ExitStack() as steps:  # from the last one up; each is taken, whatever the others raise
            steps.callback(self._forget_sessions)
            if sessions.is_running(self.services.spark.sparkContext):
                # A stopped context has no JVM left to ask.
                steps.callback(self.services.policies.end)
            if self._sending is not None:
                steps.callback(self._sending.close)  # after the last ingest
            steps.callback(self.recorder.close)
            steps.callback(self.services.backups.hashing.close)

    def _forget_sessions(self) -> None:
        for session in self._sessions_in_use():
            _forget(session.spark)
        self._attached.clear()

    def _sessions_in_use(self) -> list[AuditedSession]:
        return [one for one in self.services.sessions.living() if isinstance(one, AuditedSession)]


def _sending(config: Config, clock: Clock) -> SendingThread | None:
    """What sends statements to a receiver, where there is one."""
    if not config.openlineage_url:
        return None
    # Imported here: it needs what answers queries without a JVM.
    from audit.exchange.live.thread import SendingThread

    return SendingThread(config, clock)


def _forget(spark: SparkSession) -> None:
    spark.__dict__.pop("_audit", None)
    attached.unbind(spark)
    governed.unbind(spark)
