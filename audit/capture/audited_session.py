"""One audited SparkSession: runs each statement on the caller's thread and records its start and end.

In: a call that PySpark is about to make, as SQL text or as a `StatementRequest`. Out: what the call returns
or raises, unchanged; a START and an END in the spool; a `Job` for the worker. `audit.pipeline` has the stages
of a SQL statement.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import lineage
from audit.analysis.execution_claims import AnalysisFailureClaim
from audit.analysis.running_statements import RunningStatement
from audit.analysis.work_items import Job, RecordCompletion, StatementRequest
from audit.capture.failure import describe_failure
from audit.capture.session_settings import SessionSettings
from audit.capture.sql_requests import may_hand_on, request_of_sql, without_tree
from audit.capture.statement_log import StatementLog
from audit.capture.thread_state import ThreadState
from audit.core import identity as identities
from audit.core.actor import Actor
from audit.core.errors import TagsNotPropagatedWarning
from audit.core.guard import attempt
from audit.core.identity import Ancestry, Identity, Tagging, child_of, current_identity, current_parent
from audit.core.job_tags import ANALYSIS_TAG, STATEMENT_TAG, SUPPRESS_TAG
from audit.pipeline import chained, handlers_of
from audit.policies.enforcement.enforcer import refusal_of
from audit.policies.model.state import GovernanceState
from audit.record.access_record import Ended, Started, names_in
from audit.spark import sessions
from audit.spark.catalog.session_catalog import CatalogFacts, SessionCatalog
from audit.spark.commit_marks import install_commit_marks
from audit.spark.java_errors import java_message
from audit.spark.plans import query_executions
from audit.spark.pyspark_api import frames, job_tags
from lineage.sql.mentions import mentions
from lineage.sql.parameters import Arguments, bind_arguments, unbound_arguments, with_literals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.recorder import Recorder
    from audit.services import Services
    from audit.spark.pyspark_api.sql_template import SqlTemplate

T = TypeVar("T")

_NOTED = ("_audit_statement", "_audit_arguments", "_audit_parent", "is_cached")
"""Attributes of a DataFrame that are copied along with it."""


@dataclass(frozen=True, slots=True)
class _Recorded(Generic[T]):
    """The result of a recorded call, and its start; None if the session was detached meanwhile."""

    result: T
    started: Started | None


class AuditedSession:
    """What `audit.attach` returns: the audited side of one SparkSession.

    Args:
        spark: the session.
        identity: who runs its statements, where `as_user` names nobody else.
        services: of its application.
        recorder: of its application.
        tagging: of its statements, where neither `audit.tagged` nor its settings say another one.
        anonymous: nobody has attached it: the record has a user, and the policies know nobody.
        clone_of: the session that Spark has cloned it from: on record, and for policies, it is that one.

    Attributes:
        session_id: on record, and where policies ask who runs it.
        jvm_id: Spark's own; of a clone another one than `session_id`.
    """

    def __init__(
        self,
        spark: SparkSession,
        identity: Identity,
        services: Services,
        recorder: Recorder,
        *,
        tagging: Tagging = Tagging(),  # noqa: B008 - it is frozen
        anonymous: bool = False,
        clone_of: AuditedSession | None = None,
    ) -> None:
        self.spark = spark
        self.identity = identity
        self.services = services
        self.recorder = recorder
        self.jvm_id = sessions.session_id(spark)
        self.session_id: str = self.jvm_id if clone_of is None else clone_of.session_id
        self.catalog = SessionCatalog(spark, services.plans)
        self._log = StatementLog(self.session_id, identity, services, recorder)
        services.failures.guard(lambda: install_commit_marks(spark), None)
        self.is_anonymous = anonymous
        self._settings = SessionSettings(spark)
        self.given_tagging = tagging
        self._thread: ThreadState = ThreadState() if clone_of is None else clone_of._thread  # noqa: SLF001

    def of_clone(self, spark: SparkSession) -> AuditedSession:
        """The audited side of a clone of this session that Spark has made, as each stream has one.

        A statement of the clone runs in the clone, whose temporary views are its own.
        """
        return AuditedSession(
            spark,
            self.identity,
            self.services,
            self.recorder,
            tagging=self.given_tagging,
            anonymous=self.is_anonymous,
            clone_of=self,
        )

    def __repr__(self) -> str:
        return f"<audit of {self.identity.user}'s session under {self.services.config.root}>"

    @property
    def is_closed(self) -> bool:
        """Whether the audit of its application has ended."""
        return self.services.sessions.is_closed

    def is_busy(self) -> bool:
        """Whether this thread runs a statement already, or is suppressed."""
        return self._thread.query_id is not None or identities.is_suppressed()

    def root_query_id(self) -> str | None:
        """The topmost statement above this thread's, or that statement itself."""
        above = current_parent()
        return above.root_query_id if above is not None else self._thread.query_id

    # -- SQL -----------------------------------------------------------------------------------

    def sql(
        self,
        text: str,
        run: Callable[[SparkSession, str, Arguments | None], Any],
        *,
        arguments: Arguments | None = None,
        template: SqlTemplate | None = None,
        action: str = "SparkSession.sql",
    ) -> Any:
        """`spark.sql`: a query is only analysed, its actions are recorded; any other statement runs.

        Args:
            text: as the user wrote it.
            run: PySpark's own `sql`, in a given session.
            arguments: the values of the text's parameters, by name or position.
            template: fills the text's {…} templates in; None where it has none.
            action: class and method of the call that it stands for.
        """
        text = sessions.with_variables(self.spark, text)
        self.refresh_audit_tables(text)
        statement = lineage.parse(text)
        if template is not None:
            statement = without_tree(statement)
        statement = bind_arguments(statement, arguments)
        handlers = handlers_of(statement, self.services)

        def in_spark(spark: SparkSession, sent: str) -> Any:
            filled = sent if template is None else template.filled(sent)
            return run(spark, filled, unbound_arguments(statement, sent, arguments))

        def call() -> Any:
            way = chained(handlers, self._actor(), in_spark) if handlers else in_spark
            # A handler may run the text in another session.
            with nullcontext() if template is None else template.views_for(text):
                return way(self.spark, text)

        request = replace(request_of_sql(statement), action=action, arguments=arguments)
        if self._is_lazy(statement):
            return self._analyse(request, call, as_written=not handlers)
        done = self._run(request, call, handled=bool(handlers))
        frame, started = done.result, done.started
        # PySpark's `DataFrame.sparkSession` returns this attribute (4.2); the user compares it with their
        # own.
        frame.__dict__["_session"] = self.spark  # not one that a handler has run it in
        if may_hand_on(statement) and not frames.has_run(frame):
            # Of a query inside, only the analysis has run: its actions are the children.
            frame.__dict__["_audit_parent"] = None if started is None else _ancestry(started)
        else:
            # A command's rows are in its plan: an action on them is no other statement.
            frame.__dict__["_audit_done"] = True
        return frame

    def refresh_audit_tables(self, text: str) -> None:
        """Create or update the audit tables and their views that a text names."""
        services = self.services
        if mentions(text, services.config.schema):
            self.recorder.ingest.try_to_prepare()
            with self.quiet():
                services.measurement.measure_for(text)
                services.failures.guard(lambda: self.recorder.ingest.show_views(text), None)

    def _actor(self) -> Actor:
        """The actor of this thread's statement."""
        who = current_identity(self.identity)
        return Actor(self.services.clock(), who.user, self._thread.query_id, self.services.new_id, who.roles)

    def _is_lazy(self, statement: lineage.Statement) -> bool:
        if statement.statement_type == "UNKNOWN":
            return query_executions.is_lazy(self.spark, statement.text)
        return statement.is_query

    def _analyse(self, request: StatementRequest, call: Callable[[], Any], *, as_written: bool) -> Any:
        """Let Spark resolve a query; nothing runs, so only a failure is recorded."""
        # Inside another statement this thread has a tag already, and no execution of its is untagged.
        untagged = as_written and current_parent() is None
        runs_nothing = untagged and self.services.failures.guard(
            lambda: self._runs_nothing(request.statement), otherwise=False
        )
        claims = self.recorder.claims
        claim = AnalysisFailureClaim(request.text, self.jvm_id) if runs_nothing else None
        if claim is not None:
            claims.begin(claim)
        handed_over = False
        try:
            with self.quiet(untagged=runs_nothing, looks=False):
                frame = call()
        except Exception as error:
            handed_over = self.record_failure(replace(request, claim=claim), error)
            raise
        finally:
            if claim is not None and not handed_over:
                claims.end(claim)
        frame.__dict__.update(_audit_statement=request.statement, _audit_arguments=request.arguments)
        return frame

    def _runs_nothing(self, statement: lineage.Statement | None) -> bool:
        """Whether resolving a query runs no job; for a CSV file Spark reads a line, for its header."""
        if statement is None or statement.tree is None:
            return False
        names = names_in(statement, *self.current_schema())
        return self.catalog.snapshot().are_delta_tables(names)

    # -- a statement on the record ---------------------------------------------------------------

    def run(self, request: StatementRequest, call: Callable[[], T], *, entered: bool = False) -> T:
        """Run a statement on the record.

        Args:
            request: what is about to run.
            call: runs it.
            entered: its DataFrame comes from `own`, so the identity is set already.

        Raises:
            SpoolUnavailableError: the start could not be recorded and `on_record_failure` is "block";
                nothing has run.
        """
        return self._run(request, call, entered=entered).result

    def run_inside(self, text: str, arguments: Arguments, run: Callable[[SparkSession, str], Any]) -> Any:
        """Run a statement that Spark has met inside of another one, or of a caller in the JVM.

        Args:
            text: of the statement.
            arguments: its values, as SQL.
            run: Spark's own, of a text without parameters.
        """
        thread = self._thread
        outer = thread.query_id, thread.governance, thread.token
        thread.query_id = None  # the statement around it, where that one has come by this thread

        def in_spark(spark: SparkSession, sent: str, left: Arguments | None) -> Any:
            return run(spark, with_literals(sent, left or ()))

        try:
            return self.sql(text, in_spark, arguments=arguments)
        finally:
            thread.query_id, thread.governance, thread.token = outer

    def _run(
        self,
        request: StatementRequest,
        call: Callable[[], T],
        *,
        entered: bool = False,
        handled: bool = False,
    ) -> _Recorded[T]:
        started = self._start(request)
        if started is None:
            return _Recorded(call(), None)
        running = RunningStatement(self, current_identity(self.identity), _ancestry(started), handled)
        with self.recorder.running.entered(started.query_id, running):
            return self._run_started(request, call, started, running, entered=entered)

    def _run_started(
        self,
        request: StatementRequest,
        call: Callable[[], T],
        started: Started,
        running: RunningStatement,
        *,
        entered: bool,
    ) -> _Recorded[T]:
        if started.parent_query_id is not None and request.stream is None:
            request = replace(request, claim=None)  # this thread may have the tag of a micro-batch
        before, thread = self._facts(request), self._thread
        thread.query_id = started.query_id
        try:
            if not entered:
                self._enter()
            with self._attributed(request, started.query_id):
                result = call()
            self._record_owner(done=True)
            self.recorder.spool.confirm(started.query_id)
        # A KeyboardInterrupt ends a statement as well, and must leave its END.
        except BaseException as error:
            self._record_owner(done=False)
            thread.query_id = None
            # What the driver's side of a statement inside has raised, Spark has made into an error of Java's.
            cause = refusal_of(error) or running.error_in(java_message(error))
            ended = describe_failure(cause or error, self.services.clock())
            self._end(request, started, ended, before, None)
            if cause is not None:
                # The user sees the error of Python's; the JVM's exception is its cause.
                raise cause from error
            raise
        finally:
            self.services.enforcer.thread.leave()
        thread.query_id = None
        ended = Ended("SUCCESS", self.services.clock(), rows_produced=request.rows(result))
        if request.stream is not None:
            request = replace(request, stream=replace(request.stream, query=result))
        # Only a write can create columns that need tags.
        completion = RecordCompletion() if not request.is_reading and self.recorder.tags.may_set() else None
        self._end(request, started, ended, before, self._facts(request), completion)
        if completion is not None:
            self._await_tags(started, completion)
        return _Recorded(result, started)

    def _record_owner(self, *, done: bool) -> None:
        """Records the user or role as owner of every object that the statement created."""

        def failed(error: Exception) -> None:
            text = f"what this statement has made is the administrators': its owner was not noted ({error})"
            warnings.warn(f"{text}; GRANT OWNERSHIP ON … TO …", stacklevel=6)

        attempt(lambda: self.services.policies.record_owners(self.spark, self._actor(), done=done), failed)

    def _await_tags(self, started: Started, completion: RecordCompletion) -> None:
        self.recorder.worker.wait(completion)
        if completion.problem is not None:
            text = f"what statement {started.query_id} wrote may lack tags: {completion.problem}"
            warnings.warn(text, TagsNotPropagatedWarning, stacklevel=6)

    def _attributed(self, request: StatementRequest, query_id: str) -> AbstractContextManager[None]:
        """A block whose executions belong to the statement."""
        if request.claim is None:
            return job_tags.tagged(self.spark.sparkContext, STATEMENT_TAG + query_id)
        self.recorder.claims.begin(request.claim)  # the worker ends it
        return nullcontext()

    def run_procedure(self, request: StatementRequest, call: Callable[[], T]) -> T:
        """Run and record a procedure; its statements are recorded as its children."""
        started = self._start(request)
        if started is None:
            return call()
        try:
            with child_of(started.query_id):
                result = call()
        except BaseException as error:
            self._end(request, started, describe_failure(error, self.services.clock()), None, None)
            raise
        self._end(request, started, Ended("SUCCESS", self.services.clock()), None, None)
        return result

    def record_failure(self, request: StatementRequest, error: Exception) -> bool:
        """Record a statement that failed before it ran; returns whether the worker has it."""
        started = self._start(request)
        if started is None:
            return False
        self._end(request, started, describe_failure(error, self.services.clock()), None, None)
        return True

    # -- identity ---------------------------------------------------------------------------------

    @contextmanager
    def quiet(self, *, untagged: bool = False, looks: bool = True) -> Iterator[None]:
        """A block whose executions belong to no statement: it resolves names, or passes a result on.

        If nothing runs inside, no job tag is set, which would cost two Py4J calls. If nothing is read or
        refused, the governance is not read again; the next reading statement does it.
        """
        outer = self._thread.query_id
        self._thread.query_id = outer or ANALYSIS_TAG
        if outer is None:
            self._enter(looks=looks)
        tag = nullcontext() if untagged else job_tags.tagged(self.spark.sparkContext, ANALYSIS_TAG)
        try:
            with tag:
                yield
        finally:
            self._thread.query_id = outer
            if outer is None:
                self.services.enforcer.thread.leave()

    def own(self, frame: Any) -> Any:
        """A copy of a DataFrame for this thread's user, under the newest governance.

        A Dataset caches its plan (`QueryExecution`), with the policies of the user who planned it first. So
        other users get a copy of the Dataset, and all users after a change of policies or privileges.
        """
        token = self._enter()
        governance, noted = self._thread.governance, frame.__dict__
        # None stands for the frame itself, which would hold itself alive.
        kept: dict[str | None, tuple[GovernanceState | None, Any]] = noted.setdefault(
            "_audit_own", {token: (governance, None)}
        )
        under, known = kept.get(token, (None, None))
        # States are immutable: the same object means that no policy has changed.
        if noted.get("_audit_done") or under is governance:
            return frame if known is None else known
        own = frames.replaced_dataset(frame, self.services.enforcer.unplanned)
        own.__dict__.update({name: noted[name] for name in _NOTED if name in noted})
        kept[token] = governance, own
        return own

    def _enter(self, *, looks: bool = True) -> str | None:
        """Set this thread's user as the identity of what Spark runs next, under the newest governance."""
        if self.is_anonymous:
            self._thread.governance, self._thread.token = self.services.policies.state(), None
            return None
        who = current_identity(self.identity)
        enter = self.services.policies.set_identity
        self._thread.governance, token = enter(self.session_id, who.user, who.roles, looks=looks)
        self._thread.token = token
        return token

    # -- what is known of its catalog -------------------------------------------------------------

    def current_schema(self) -> tuple[str, str]:
        """The current catalog and schema of the session; cached until a statement may change them."""
        return self._settings.current_schema()

    def tagging(self) -> Tagging:
        """The query tag and the purpose that its settings say, else those that it was attached with."""
        said = self.services.failures.guard(self._settings.tagging, Tagging())
        return said.else_of(self.given_tagging)

    def catalog_facts(self, statement: lineage.Statement) -> CatalogFacts | None:
        """The targets of a DDL statement as they are now; None for one without targets."""
        if not statement.targets:
            return None
        current = self.current_schema()
        with job_tags.tagged(self.spark.sparkContext, SUPPRESS_TAG):
            return CatalogFacts(
                {target.parts: self.catalog.target(target, current) for target in statement.targets}
            )

    def _facts(self, request: StatementRequest) -> CatalogFacts | None:
        """The targets of a DDL statement, before and after it, as the catalog changes later."""
        statement = request.statement
        if statement is None or not statement.is_ddl:
            return None
        return self.services.failures.guard(lambda: self.catalog_facts(statement), None)

    # -- start and end ----------------------------------------------------------------------------

    def _start(self, request: StatementRequest) -> Started | None:
        current = self.services.failures.guard(self.current_schema, ("", ""))
        return self._log.start(request, current, self.tagging())

    def _end(
        self,
        request: StatementRequest,
        started: Started,
        ended: Ended,
        before: CatalogFacts | None,
        after: CatalogFacts | None,
        completion: RecordCompletion | None = None,
    ) -> None:
        ended = self._log.end(started, ended, request)
        if request.changes_session:
            self._settings.forget()
            self.services.sessions.catalog_changed()
        governance, token = self._thread.governance or GovernanceState(), self._thread.token
        attachments = partial(self.services.policies.attachments, state=governance, token=token)
        catalog = self.catalog.snapshot()
        governed = self.services.policies.state() if request.is_about_policy else None
        known = (catalog, before, after, governance, attachments, token, completion, governed)
        self.recorder.worker.submit(Job(request, started, ended, *known))


def _ancestry(started: Started) -> Ancestry:
    """The parent and root ids of statements inside a statement."""
    return Ancestry(started.query_id, started.root_query_id or started.query_id)
