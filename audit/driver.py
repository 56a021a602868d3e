"""One audited Spark application: what its sessions share.

In: a SparkContext, a root, a configuration. Out: the spool, the listener, the worker and the ingest
thread, opened together and closed together.
"""

from __future__ import annotations

import atexit
import threading
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from audit import jvm
from audit.analysis.analyst import Analyst
from audit.analysis.executions import Executions
from audit.analysis.plan_facts import PlanFactsReader
from audit.analysis.spark_catalog import CatalogFacts, SessionCatalog
from audit.analysis.untagged import Untagged
from audit.analysis.worker import Worker
from audit.by import By
from audit.capture.interceptor import ANALYSIS_TAG, STATEMENT_TAG, Interceptor
from audit.capture.marking import Marking
from audit.capture.streaming import Streams
from audit.errors import IngestError, RecordLossWarning
from audit.graph import LineageGraph, Question, answer
from audit.graph.errors import LineageNameUnknown
from audit.ingest.thread import IngestThread
from audit.jvm import EventQueue
from audit.spool import Spool
from audit.store.changes import changes_since
from audit.store.creations import creation_of
from audit.store.lineage_tables import snapshot_of
from audit.store.own_session import own_session
from audit.store.running import running_since
from audit.store.tables import AUDIT_TABLES
from audit.store.versions import recorded
from lineage.parse import parse
from policies import attached as governed
from policies.service import Policies, Run
from time_travel import attached
from time_travel.registry import NAME as OBJECT_HISTORY
from time_travel.service import TimeTravel

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.clock import Clock
    from audit.config import Config
    from audit.identity import Identity
    from audit.ids import IdGenerator
    from lineage.statement import Target
    from time_travel.registry import Event
    from time_travel.staging import Staged

T = TypeVar("T")
SUPPRESS_TAG = "audit-suppressed"
SESSION_MARK = "spark.audit.session"
_FLUSH_SECONDS = 600.0
_QUIET = frozenset({ANALYSIS_TAG, SUPPRESS_TAG})


class Driver:
    """The shared side of all interceptors of one application and root."""

    quiet_tag = SUPPRESS_TAG

    def __init__(self, spark: SparkSession, config: Config, clock: Clock, ids: IdGenerator) -> None:
        self.config = config
        self.clock_source = clock
        self.clock = clock.now
        self.new_id = ids.new
        self.spark = own_session(spark)
        self.application_id = str(spark.sparkContext.applicationId)
        self._attached: dict[str, Interceptor] = {}
        # Sessions that these have made are kept by whoever uses them.
        self._interceptors: WeakValueDictionary[str, Interceptor] = WeakValueDictionary()
        self.spool = _open_spool(config, self.application_id, clock, ids)
        self.streams = Streams(self)
        self.plans = PlanFactsReader(jvm.view(spark.sparkContext))
        self.catalog = SessionCatalog(self.spark, self.plans)
        self.analyst = Analyst(self.plans, listening=config.listener, cross_check=config.cross_check)
        self.executions = _listen(spark) if config.listener else None
        self.untagged = Untagged()
        self.marking = Marking(spark)
        self.time_travel = TimeTravel(
            self.spark,
            config.root,
            config.schema,
            self.clock,
            partial(recorded, self),
            self._running_since,
            self.guarded,
            partial(changes_since, self),
            self._quiet,
            self._cloned,
            self._may_undrop,
            self._shown,
        )
        self.policies = Policies(
            own_session(spark),
            config.root,
            config.account,
            config.admins.split(","),
            [*(table.name for table in AUDIT_TABLES), OBJECT_HISTORY],
            partial(creation_of, self),
            self._downstream,
            self._staged,
            enforces=config.enforce_privileges,
        )
        self.policies.exempt(self.spark)
        self.worker = Worker(self, self.analyst)
        self.ingest = IngestThread(self)
        self._closed = False
        self._closing = threading.Lock()
        atexit.register(self.close)

    @property
    def is_closed(self) -> bool:
        """Whether the driver has been closed, with its last session or its SparkContext."""
        return self._closed

    def attach(self, spark: SparkSession, identity: Identity) -> Interceptor:
        """Audit a session of this application until it is released."""
        interceptor = self.adopt(spark, identity)
        self._attached[interceptor.session_id] = interceptor
        return interceptor

    def adopt(self, spark: SparkSession, identity: Identity) -> Interceptor:
        """Audit a session as long as it is used and one is attached."""
        interceptor = Interceptor(spark, self, identity)
        self._interceptors[interceptor.session_id] = interceptor
        spark.__dict__["_audit"] = interceptor
        attached.give(spark, self.time_travel)
        governed.give(spark, self.policies)
        # Clones of it in the JVM (foreachBatch has one) are found by this.
        spark.conf.set(SESSION_MARK, interceptor.session_id)
        self.policies.install(spark, interceptor.session_id, identity.user, identity.roles)
        return interceptor

    def interceptor(self, session_id: str) -> Interceptor | None:
        """The interceptor of a session, by the id of Spark's."""
        return self._interceptors.get(session_id)

    def release(self, interceptor: Interceptor) -> None:
        """Stop auditing a session; the last one closes the driver."""
        self._attached.pop(interceptor.session_id, None)
        self._interceptors.pop(interceptor.session_id, None)
        interceptor.spark.conf.unset(SESSION_MARK)
        self._forget(interceptor)
        if not self._attached:
            self.close()

    def _quiet(self, spark: SparkSession) -> AbstractContextManager[None]:
        found = self.interceptor(jvm.session_id(spark))
        return nullcontext() if found is None else found.quiet()

    def _cloned(self, source_id: str, clone_id: str, is_past: bool) -> None:  # noqa: FBT001  as `Cloned` is called
        self.policies.copy(source_id, clone_id, By(self.clock(), "", None, self.new_id), is_past=is_past)

    def _downstream(self) -> Callable[[str], LineageGraph | None]:
        """What was made of a column, by all that is on record."""
        self.flush()
        snapshot = snapshot_of(self.config.root, None, lambda: self.spark)

        def downstream(column: str) -> LineageGraph | None:
            try:
                return answer(snapshot, Question(column, "downstream"))
            except LineageNameUnknown:
                return None

        return downstream

    def _staged(self, spark: SparkSession, text: str, run: Run) -> Staged | None:
        quiet = partial(jvm.tagged, spark.sparkContext, SUPPRESS_TAG)
        found = self.time_travel.staged(spark, text, run, quiet)
        if found is not None:
            for interceptor in self._living():  # `spark` is a clone of the session of one of them
                interceptor.catalog.stands_for(found.place, found.name)
        return found

    def _may_undrop(self, dropped: Event, by: By) -> None:
        self.policies.require_undrop(dropped.domain, dropped.name, dropped.object_id, by)

    def _shown(self, spark: SparkSession, text: str, by: By, run: Run) -> Any | None:
        """What a SHOW of the governance shows; None for any other text."""
        way = self.policies.way_of(parse(text))
        return None if way is None else way(spark, text, by, run)

    def catalog_facts(self, interceptor: Interceptor, targets: Sequence[Target]) -> CatalogFacts:
        """What the targets of a DDL statement are at this moment."""
        current = interceptor.current_schema()
        with jvm.tagged(interceptor.spark.sparkContext, SUPPRESS_TAG):
            found = {target.parts: interceptor.catalog.target(target, current) for target in targets}
        return CatalogFacts(found)

    def catalog_changed(self) -> None:
        """A statement may have changed what names stand for."""
        for interceptor in self._living():
            interceptor.catalog.forget()

    def note_failure(self, query_id: str, error: Exception) -> None:
        """Keep an analysis failure for `coverage`."""
        self.analyst.failures.append((query_id, f"{type(error).__name__}: {error}"))

    def guarded(self, ask: Callable[[], T], otherwise: T) -> T:
        """Ask for what is good to know; a failure is noted and never reaches the caller."""
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - the guard of the caller's thread
            self.note_failure("", error)
            return otherwise

    def _running_since(self) -> int | None:
        return running_since(self.spark, self.config.root, self.application_id, self.spool.running())

    def flush(self) -> None:
        """Return when everything recorded so far is in the tables.

        Raises:
            IngestError: the worker is that far behind, or the tables could not be written.
        """
        if not self.worker.drain(_FLUSH_SECONDS):
            raise IngestError(
                f"the records of {self.application_id} were not made within {_FLUSH_SECONDS:.0f} seconds",
                "they are safe in the spool; call audit.flush again when Spark is less busy",
            )
        self.ingest.run_now()
        if not self.worker.refused:
            return
        # Now that the ingest has made room.
        if not self.worker.drain(_FLUSH_SECONDS) or self.worker.refused:
            raise IngestError(
                f"{self.worker.refused} records of {self.application_id} wait for the spool, which cannot be"
                " written",
                "free space on its disk, or raise spool_max_bytes, and call audit.flush again",
            )
        self.ingest.run_now()

    def close(self) -> None:
        """Finish the records, take them in, and free the spool; safe to call twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        atexit.unregister(self.close)
        with ExitStack() as steps:  # from the last one up; each is taken, whatever the others raise
            steps.callback(self._forget_sessions)
            if jvm.is_running(self.spark.sparkContext):
                steps.callback(self.policies.end)
            steps.callback(self.spool.close)
            if jvm.is_running(self.spark.sparkContext):
                if self.executions is not None:
                    steps.callback(self.executions.close)
                steps.callback(self.ingest.close)
                steps.callback(self._finish_records)
            else:
                # The context was stopped underneath: what is on record waits for the next driver.
                steps.callback(self.ingest.stop)
                steps.callback(self.worker.stop)

    def _finish_records(self) -> None:
        try:
            self.worker.drain()
        finally:
            self.worker.close()
        if self.worker.refused:
            text = f"{self.worker.refused} records are lost: {self.spool.path} cannot be written"
            warnings.warn(text, RecordLossWarning, stacklevel=2)

    def _forget_sessions(self) -> None:
        for interceptor in self._living():
            self._forget(interceptor)
        self._attached.clear()

    @staticmethod
    def _forget(interceptor: Interceptor) -> None:
        interceptor.spark.__dict__.pop("_audit", None)
        attached.take(interceptor.spark)
        governed.take(interceptor.spark)

    def _living(self) -> list[Interceptor]:
        found = [reference() for reference in self._interceptors.valuerefs()]
        return [interceptor for interceptor in found if interceptor is not None]


def _listen(spark: SparkSession) -> Executions:
    return Executions(EventQueue(spark.sparkContext, "audit"), STATEMENT_TAG, _QUIET)


def _open_spool(config: Config, application_id: str, clock: Clock, ids: IdGenerator) -> Spool:
    return Spool.open(
        config.spool_home,
        application_id=application_id,
        clock=clock,
        ids=ids,
        on_record_failure=config.on_record_failure,
        max_bytes=config.spool_max_bytes,
    )
