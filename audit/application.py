"""One audited Spark application under one root: opens and closes the services that its sessions share.

In: a SparkContext, a configuration. Out: audited sessions, until the last one is released.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

from audit.capture.audited_session import AuditedSession
from audit.core.identity import acting
from audit.policies import attached as governed
from audit.recorder import Recorder
from audit.services import build
from audit.spark import sessions
from audit.spool import Spool
from audit.time_travel import attached

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock
    from audit.core.config import Config
    from audit.core.identity import Identity
    from audit.core.ids import IdGenerator


class Application:
    """Services and recorder of one application and root, and its attached sessions."""

    def __init__(self, spark: SparkSession, config: Config, clock: Clock, ids: IdGenerator) -> None:
        spool = Spool.open(
            config.spool_home,
            application_id=str(spark.sparkContext.applicationId),
            clock=clock,
            ids=ids,
            on_record_failure=config.on_record_failure,
            max_bytes=config.spool_max_bytes,
        )
        self.services = build(spark, config, clock, ids, flush=self.flush, running=spool.running)
        self.recorder = Recorder(self.services, spool, clock)
        self._attached: dict[str, AuditedSession] = {}
        self._closing = threading.Lock()
        # A program that ends without detach still gets its records ingested.
        atexit.register(self.close)

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed, with its last session or its SparkContext."""
        return self.services.sessions.is_closed

    def attach(self, spark: SparkSession, identity: Identity) -> AuditedSession:
        """Audit a session of this application until it is released."""
        session = self.adopt(spark, identity)
        if acting() is None:
            thread = self.services.enforcer.thread
            thread.set(thread.of_session(session.session_id))
        self._attached[session.session_id] = session
        return session

    def adopt(self, spark: SparkSession, identity: Identity) -> AuditedSession:
        """Audit a session as long as it is used and one is attached."""
        session = AuditedSession(spark, identity, self.services, self.recorder)
        self.services.sessions.add(session)
        spark.__dict__["_audit"] = session
        attached.bind(spark, self.services.time_travel)
        governed.bind(spark, self.services.policies)
        # Clones of the session in the JVM, as foreachBatch has one, are found by the mark.
        self.services.enforcer.mark(spark, session.session_id)
        self.services.policies.install(spark, session.session_id, identity.user, identity.roles)
        return session

    def session_of(self, spark: SparkSession) -> AuditedSession | None:
        """The audited session that a session is, or is a clone of."""
        found = self.services.sessions.find(self.services.enforcer.mark_of(spark))
        return found if isinstance(found, AuditedSession) else None

    def release(self, session: AuditedSession) -> None:
        """Stop auditing a session; the last one closes the application."""
        self._attached.pop(session.session_id, None)
        self.services.sessions.discard(session.session_id)
        if sessions.is_running(session.spark.sparkContext):
            self.services.enforcer.mark(session.spark, "")
        _forget(session.spark)
        if not self._attached:
            self.close()

    def flush(self) -> None:
        """See `Recorder.flush`."""
        self.recorder.flush()

    def close(self) -> None:
        """Finish and ingest the records, and free the spool; it can be called twice."""
        with self._closing:
            if self.is_closed:
                return
            self.services.sessions.close()
        atexit.unregister(self.close)
        with ExitStack() as steps:  # from the last one up; each is taken, whatever the others raise
            steps.callback(self._forget_sessions)
            if sessions.is_running(self.services.spark.sparkContext):
                # A stopped context has no JVM left to ask.
                steps.callback(self.services.policies.end)
            steps.callback(self.recorder.close)

    def _forget_sessions(self) -> None:
        for session in self.services.sessions.living():
            if isinstance(session, AuditedSession):
                _forget(session.spark)
        self._attached.clear()


def _forget(spark: SparkSession) -> None:
    spark.__dict__.pop("_audit", None)
    attached.unbind(spark)
    governed.unbind(spark)
