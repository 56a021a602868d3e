"""The front door of one session: the way of a statement on the caller's thread.

In: a call that PySpark is about to make, as an `Intent`. Out: what the call returns or raises,
unchanged; on the way a START and an END in the spool, and a `Job` for the worker.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import lineage
from audit import jvm
from audit.analysis.job import Intent, Job, Waited
from audit.analysis.spark_catalog import CatalogFacts, SessionCatalog
from audit.analysis.untagged import FailureOf
from audit.by import By
from audit.capture.copy_into import run_copy
from audit.capture.failure import describe_failure
from audit.capture.marking import leaves_a_commit
from audit.errors import SpoolClosedError, SpoolError, TagsNotPropagatedWarning
from audit.identity import Identity, Lineal, child_of, current_identity, current_parent, is_suppressed
from audit.record import Ended, Started, names_in
from audit.spool import Durability, Kind
from policies.governor import refusal_of
from policies.state import State

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.driver import Driver

T = TypeVar("T")

_COPIES = frozenset({"COPY", "UNLOAD"})
_NOTED = ("_audit_statement", "_audit_parent", "is_cached")
"""What a DataFrame says of itself, beside its plan."""
ANALYSIS_TAG = "audit-analysis"
STATEMENT_TAG = "audit-statement-"


class Interceptor:
    """What `audit.attach` returns: the audited side of one SparkSession."""

    def __init__(self, spark: SparkSession, driver: Driver, identity: Identity) -> None:
        self.spark = spark
        self.driver = driver
        self.identity = identity
        self.session_id = jvm.session_id(spark)
        self.catalog = SessionCatalog(spark, driver.plans)
        self._current: tuple[str, str] | None = None
        self._inside = threading.local()

    def is_busy(self) -> bool:
        """Whether this thread is inside a statement already, or suppressed."""
        return getattr(self._inside, "query_id", None) is not None or is_suppressed()

    def sql(self, text: str, run: Callable[[SparkSession, str], T], *, templated: bool = False) -> T:
        """`spark.sql`: a query is only analysed here and recorded by its actions; the rest runs.

        Args:
            text: as the user wrote it.
            run: Spark's own, in a session, of a text.
            templated: the text holds {…} that Spark fills in.
        """
        if self.driver.config.schema in text:
            self.driver.ingest.try_to_prepare()
            with self.quiet():
                self.driver.guarded(lambda: self.driver.time_travel.measure_for(text), None)
        statement = lineage.parse(text)
        if templated:
            statement = _without_tree(statement)
        travels = self.driver.time_travel.may_travel(text)

        governs = self.driver.policies.way_of(statement)
        keeps = self.driver.time_travel.way_of(statement)
        way = governs or keeps

        def below(session: SparkSession, sent: str) -> T:
            """Where governance has nothing against it."""
            if governs is None or keeps is None:
                return run(session, sent)
            return cast("T", keeps(session, sent, self._by(), run))

        def call() -> T:
            sent = self.driver.time_travel.rewritten(self.spark, text) if travels else text
            session = self._running(statement)
            return run(session, sent) if way is None else cast("T", way(session, sent, self._by(), below))

        if way is None and self._is_lazy(statement):
            return self._analyse(statement, call, as_written=not travels)
        intent = _intent_of_sql(statement)
        if statement.statement_type in _COPIES and statement.tree is not None:
            call = cast("Callable[[], T]", lambda: run_copy(self.spark, statement))
        frame = self.run(intent, call)
        frame.__dict__["_session"] = self.spark  # not the clone that ran it
        if _may_hand_on(statement) and not jvm.has_run(frame):
            # Of a query inside, only the analysis has run: its actions are the children.
            frame.__dict__["_audit_parent"] = intent.lineal
        else:
            frame.__dict__["_audit_done"] = True
        return frame

    def _by(self) -> By:
        """Who runs the statement that this thread is inside of."""
        query_id = getattr(self._inside, "query_id", None)
        who = current_identity(self.identity)
        return By(self.driver.clock(), who.user, query_id, self.driver.new_id, who.roles)

    def _running(self, statement: lineage.Statement) -> SparkSession:
        """The session that runs a statement: this one, or a clone whose commits carry the query id."""
        query_id = getattr(self._inside, "query_id", None)
        if query_id in (None, ANALYSIS_TAG) or not leaves_a_commit(statement):
            return self.spark
        return self.driver.guarded(lambda: self._marked(statement, str(query_id)), self.spark)

    def _marked(self, statement: lineage.Statement, query_id: str) -> SparkSession:
        if not self.driver.time_travel.writes_delta(self.spark, statement):
            return self.spark
        return self.driver.marking.marked(self.spark, query_id)

    def write(
        self,
        action: str,
        original: Callable[..., T],
        writer: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> T:
        """Make a call on a writer; where it commits to Delta, its commits carry the query id."""
        marked = self.driver.guarded(lambda: self._marked_writer(writer, action, args, kwargs), None)
        if marked is None:
            return original(writer, *args, **kwargs)
        try:
            made = original(marked, *args, **kwargs)
            return self.driver.guarded(lambda: self.driver.marking.at_home(made, writer, action), made)
        finally:
            self.driver.guarded(lambda: self.driver.marking.give_back(marked, writer, action), None)

    def _marked_writer(self, writer: Any, action: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        query_id = getattr(self._inside, "query_id", None)
        to = self.driver.marking.destination(writer, action, args, kwargs)
        if to is None or query_id in (None, ANALYSIS_TAG):
            return None
        place = None
        if not to.is_delta:
            found = self.driver.time_travel.written(self.spark, to.table, to.provider, makes=to.makes)
            if not found.is_delta:
                return None
            place = found.place
        marked = self.driver.marking.writer(writer, action, str(query_id))
        if place is not None:
            self.driver.marking.place(marked, action, *place)
        return marked

    def _is_lazy(self, statement: lineage.Statement) -> bool:
        if statement.statement_type == "UNKNOWN":
            return jvm.is_lazy(self.spark, statement.text)
        return statement.is_query

    def _analyse(self, statement: lineage.Statement, call: Callable[[], T], *, as_written: bool) -> T:
        """Let Spark resolve a query. Nothing runs yet, so nothing is recorded but a failure."""
        runs_nothing = as_written and self.driver.guarded(
            lambda: self._runs_nothing(statement), otherwise=False
        )
        claim = FailureOf(statement.text, self.session_id) if runs_nothing else None
        if claim is not None:
            self.driver.untagged.begin(claim)
        handed_over = False
        try:
            with self.quiet(untagged=runs_nothing, looks=False):
                frame = call()
        except Exception as error:
            handed_over = self.record_failure(replace(_intent_of_sql(statement), claim=claim), error)
            raise
        finally:
            if claim is not None and not handed_over:
                self.driver.untagged.end(claim)
        frame.__dict__["_audit_statement"] = statement
        return frame

    def _runs_nothing(self, statement: lineage.Statement) -> bool:
        """Whether Spark is known to resolve a query without running anything; of a CSV it reads a line."""
        if statement.tree is None:
            return False
        names = names_in(statement, *self.current_schema())
        return self.catalog.snapshot().are_delta_tables(names)

    def run(self, intent: Intent, call: Callable[[], T], *, entered: bool = False) -> T:
        """Run a statement on the record.

        Args:
            intent: what is about to run.
            call: runs it.
            entered: it is about a DataFrame of `own`, and obeys what that one does.

        Raises:
            SpoolUnavailableError: the start could not be recorded and `on_record_failure` is "block";
                nothing has run.
        """
        started = self._start(intent)
        if started is None:
            return call()
        if started.parent_query_id is not None:
            intent = replace(intent, claim=None)  # this thread may have the tag of a stream's start
        before = self._facts(intent)
        self._inside.query_id = started.query_id
        try:
            if not entered:
                self._enter()
            with self._attributed(intent, started.query_id):
                result = call()
            self._settle(done=True)
            self.driver.spool.confirm(started.query_id)
        except BaseException as error:
            self._settle(done=False)
            self._inside.query_id = None
            refusal = refusal_of(error)
            ended = describe_failure(refusal or error, self.driver.clock())
            self._end(intent, started, ended, before, None)
            if refusal is not None:
                raise refusal from error
            raise
        self._inside.query_id = None
        ended = Ended("SUCCESS", self.driver.clock(), rows_produced=intent.rows(result))
        waited = Waited() if self._propagates(intent) else None
        self._end(intent, started, ended, before, self._facts(intent), waited)
        if waited is not None:
            self._await_tags(started, waited)
        return result

    def _settle(self, *, done: bool) -> None:
        """Who has made something owns it."""
        try:
            self.driver.policies.settle(self.spark, self._by(), done=done)
        except Exception as error:  # noqa: BLE001 - the statement has run, and its result is its user's
            text = (
                f"what this statement has made is the administrators': its owner could not be noted ({error})"
            )
            warnings.warn(f"{text}; GRANT OWNERSHIP ON … TO …", stacklevel=4)

    def _propagates(self, intent: Intent) -> bool:
        """Whether a statement may have made columns that are to have tags when it returns."""
        if not self.driver.config.propagate_tags or intent.is_reading:
            return False
        return self.driver.guarded(self.driver.policies.has_tags, otherwise=True)

    def _await_tags(self, started: Started, waited: Waited) -> None:
        self.driver.worker.wait(waited)
        if waited.problem is not None:
            text = f"what statement {started.query_id} wrote may lack tags: {waited.problem}"
            warnings.warn(text, TagsNotPropagatedWarning, stacklevel=5)

    def _attributed(self, intent: Intent, query_id: str) -> AbstractContextManager[None]:
        """What Spark runs inside belongs to the statement."""
        if intent.claim is None:
            return jvm.tagged(self.spark.sparkContext, STATEMENT_TAG + query_id)
        self.driver.untagged.begin(intent.claim)  # the worker ends it
        return nullcontext()

    def run_procedure(self, intent: Intent, call: Callable[[], T]) -> T:
        """Run a procedure on the record; what it runs is recorded, too, and points at it."""
        started = self._start(intent)
        if started is None:
            return call()
        try:
            with child_of(started.query_id):
                result = call()
        except BaseException as error:
            self._end(intent, started, describe_failure(error, self.driver.clock()), None, None)
            raise
        self._end(intent, started, Ended("SUCCESS", self.driver.clock()), None, None)
        return result

    @contextmanager
    def quiet(self, *, untagged: bool = False, looks: bool = True) -> Iterator[None]:
        """What Spark runs inside belongs to no statement: it resolves names, or hands a result over.

        Where it is known to run nothing, its tag is spared: two calls of Py4J. Where nothing is read, nor
        refused, it is spared to look whether another driver has changed the governance: what reads will.
        """
        outer = getattr(self._inside, "query_id", None)
        self._inside.query_id = outer or ANALYSIS_TAG
        if outer is None:
            self._enter(looks=looks)
        tag = nullcontext() if untagged else jvm.tagged(self.spark.sparkContext, ANALYSIS_TAG)
        try:
            with tag:
                yield
        finally:
            self._inside.query_id = outer

    def own(self, frame: Any) -> Any:
        """A DataFrame for this thread's user alone, under the governance as of now.

        Spark keeps the plan that it has made of a Dataset for the first who has asked: any other gets their
        own, and everybody does after a change of policies or privileges.
        """
        token = self._enter()
        governance, noted = self._inside.governance, frame.__dict__
        # None stands for the frame itself, which would hold itself alive.
        kept: dict[str, tuple[State, Any]] = noted.setdefault("_audit_own", {token: (governance, None)})
        under, known = kept.get(token, (None, None))
        if noted.get("_audit_done") or under is governance:
            return frame if known is None else known
        own = type(frame)(self.driver.policies.governor.anew(frame._jdf), frame.sparkSession)
        own.__dict__.update({name: noted[name] for name in _NOTED if name in noted})
        kept[token] = governance, own
        return own

    def _enter(self, *, looks: bool = True) -> str:
        """What Spark runs from now on, this thread's user runs, under the governance as of now."""
        who = current_identity(self.identity)
        enter = self.driver.policies.enter
        self._inside.governance, token = enter(self.session_id, who.user, who.roles, looks=looks)
        self._inside.token = token
        return token

    def current_schema(self) -> tuple[str, str]:
        """The current catalog and schema of the session, asked once after each change."""
        if self._current is None:
            self._current = jvm.current_schema(self.spark)
        return self._current

    def forget_current_schema(self) -> None:
        """Something may have changed the current catalog or schema."""
        self._current = None

    def record_failure(self, intent: Intent, error: Exception) -> bool:
        """Put on record what has failed before it ran; whether the worker has it now."""
        started = self._start(intent)
        if started is None:
            return False
        self._end(intent, started, describe_failure(error, self.driver.clock()), None, None)
        return True

    def _start(self, intent: Intent) -> Started | None:
        """Put a start on record; None where the audit was detached since the statement came in."""
        started = self._started(intent)
        intent.lineal.append(Lineal(started.query_id, started.root_query_id or started.query_id))
        try:
            # A change waits for the disk before it runs; a query's result does (`Spool.confirm`).
            self._note("S", started.query_id, started.to_dict(), "soon" if intent.is_reading else "now")
        except SpoolClosedError:
            return None
        return started

    def _note(self, kind: Kind, query_id: str, payload: dict[str, Any], durability: Durability) -> None:
        """Put an entry on record."""
        self.driver.spool.append(
            kind, query_id, payload, durability if self.driver.config.durable else "later"
        )

    def _started(self, intent: Intent) -> Started:
        identity, parent = current_identity(self.identity), intent.parent or current_parent()
        catalog, schema = self.driver.guarded(self.current_schema, ("", ""))
        now = self.driver.clock()
        return Started(
            query_id=self.driver.new_id(),
            start_time=now,
            user_name=identity.user,
            query_text=intent.text,
            query_type=intent.query_type,
            action=intent.action,
            is_sql=intent.statement is not None,
            role_name=self.driver.policies.taken(self.session_id, identity.user) or identity.role,
            database_name=catalog,
            schema_name=schema,
            parent_query_id=parent.parent_query_id if parent else None,
            root_query_id=parent.root_query_id if parent else None,
            session_id=self.session_id,
            application_id=self.driver.application_id,
            objects_tried=intent.objects_tried,
        )

    def _facts(self, intent: Intent) -> CatalogFacts | None:
        """What a DDL statement's targets are, before and after it: nobody can say it later."""
        statement = intent.statement
        if statement is None or not statement.is_ddl:
            return None
        return self.driver.guarded(lambda: self._targets(statement), None)

    def _targets(self, statement: lineage.Statement) -> CatalogFacts | None:
        targets = statement.targets
        return self.driver.catalog_facts(self, targets) if targets else None

    def _end(
        self,
        intent: Intent,
        started: Started,
        ended: Ended,
        before: CatalogFacts | None,
        after: CatalogFacts | None,
        waited: Waited | None = None,
    ) -> None:
        try:
            # No more than how it ended hangs on it: a power cut right now leaves an INCOMPLETE statement.
            self._note("E", started.query_id, ended.to_dict(), "soon")
        except SpoolError as error:
            # The statement has run; its start is on record. Where the disk refuses, it refuses the next one.
            warnings.warn(f"{error} The end of {started.query_id} is not on record.", stacklevel=4)
        if intent.changes_session:
            self.forget_current_schema()
            self.driver.catalog_changed()
        governance = getattr(self._inside, "governance", None) or State()
        token = getattr(self._inside, "token", None)
        attachments = partial(self.driver.policies.attachments, state=governance, token=token)
        catalog = self.catalog.snapshot()
        self.driver.worker.submit(
            Job(intent, started, ended, catalog, before, after, governance, attachments, token, waited)
        )


def _may_hand_on(statement: lineage.Statement) -> bool:
    """Whether a statement may be one around a query that has not run: what it shows is asked (`->>`)."""
    kind = statement.statement_type
    return kind == "EXECUTE_IMMEDIATE" or (kind in ("SHOW", "DESCRIBE") and "->>" in statement.text)


def _intent_of_sql(statement: lineage.Statement) -> Intent:
    return Intent(
        text=statement.text,
        query_type=statement.statement_type,
        action="SparkSession.sql",
        statement=statement,
        changes_session=statement.changes_session or statement.is_ddl,
    )


def _without_tree(statement: lineage.Statement) -> lineage.Statement:
    """Text with {…} templates names temp views that are gone when it has run: its plan is read instead."""
    return replace(statement, tree=None, command=None, changes=(), reason="text with {…} templates")
