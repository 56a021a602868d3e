"""Statements that Spark's parser meets: inside scripts and EXECUTE IMMEDIATE, and of callers in the JVM.

In: a question of `StatementGateway.java`: what is this text, or run it. Out: the text for Spark, the columns
of a statement of ours, its Dataset, or why it cannot be. It passes the same stages, and is recorded, as a
statement of `spark.sql`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from audit.capture.audited_session import AuditedSession
from audit.capture.result_columns import columns_of
from audit.capture.table_plans import QUESTIONS, told_of_table
from audit.core.config import tagging_of
from audit.core.guard import attempt
from audit.core.identity import Identity, acting_as, child_of
from audit.core.job_tags import QUIET_TAGS
from audit.policies.enforcement.enforcer import refusal_of
from audit.policies.errors import AccessDeniedError
from audit.spark.java_errors import java_exception
from audit.spark.sessions import session_of
from audit.spark.statement_gateway import java_dataset
from lineage.sql.own_statements import is_own, own_points
from lineage.sql.parameters import (
    Arguments,
    SqlLiteral,
    bind_arguments,
    by_marker,
    unbound_arguments,
    with_literals,
)
from lineage.sql.parse import parse
from lineage.sql.script import with_immediate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.analysis.running_statements import RunningStatement
    from audit.recorder import Recorder
    from audit.services import Services
    from lineage import Statement

_NOBODY = "nobody is known to run this session"
_ATTACH = "call audit.attach(spark) for it, or run the statement in an attached session"


class Application(Protocol):
    """What is needed of an attached application."""

    @property
    def services(self) -> Services:
        """Of its root."""
        ...

    @property
    def recorder(self) -> Recorder:
        """What records its statements."""
        ...


@dataclass(frozen=True, slots=True)
class _Caller:
    """In which session a statement runs, for whom.

    Attributes:
        audited: the session.
        inside: the statement that it is a part of, if any.
        known: somebody has attached the session.
    """

    audited: AuditedSession
    inside: RunningStatement | None
    known: bool


class JvmStatements:
    """Answers the questions of one JVM.

    Args:
        find: the audited side of a session, None for one that nobody has attached.
        applications: those that are open.
    """

    def __init__(
        self,
        find: Callable[[SparkSession], AuditedSession | None],
        applications: Callable[[], Iterable[Application]],
    ) -> None:
        self._find = find
        self._applications = applications

    def answer(self, question: str, java_session: Any) -> Any:
        """Answer one question, see `StatementGateway.java`."""
        asked = json.loads(question)
        tags = asked["tags"]
        inside = self._inside(tags)
        with ExitStack() as around:
            for application in self._applications():
                # Py4J serves calls of the JVM on its own threads, which have set other identities before.
                around.enter_context(application.services.enforcer.thread.in_callback())
            if asked["asks"] in QUESTIONS:
                return self._answered(lambda: self._of_table(asked, java_session, inside), inside)
            text, values = asked["text"], _literals(asked["arguments"], asked["text"])
            if asked["asks"] == "run":
                return self._run(text, values, java_session, inside)
            return self._planned(text, values, java_session, tags, inside)

    def _of_table(self, asked: dict[str, Any], java_session: Any, inside: RunningStatement | None) -> str:
        """What is to be said of a table that a plan is about."""
        caller = self._caller(java_session, inside)
        with caller.audited.quiet():
            return json.dumps(told_of_table(asked, caller.audited.services.time_travel, caller.audited.spark))

    def _planned(
        self,
        text: str,
        values: Arguments,
        java_session: Any,
        tags: Sequence[str],
        inside: RunningStatement | None,
    ) -> Any:
        if not QUIET_TAGS.isdisjoint(tags) or (inside is not None and inside.handled):
            return json.dumps({})  # a stage sends it, which knows what it does
        return self._answered(lambda: json.dumps(self._plan(text, values, java_session, inside)), inside)

    def _plan(
        self, text: str, values: Arguments, java_session: Any, inside: RunningStatement | None
    ) -> dict[str, Any]:
        """What Spark is to parse for a text."""
        statement = parse(text)
        if statement.statement_type == "SCRIPT":
            return self._script(with_immediate(text), java_session, inside)
        if is_own(statement):
            arguments = json.dumps(values)
            return {"text": text, "columns": columns_of(statement), "arguments": arguments}
        if not statement.points:
            # The JVM remembers such a text and does not ask again, see `StatementGateway.java`.
            return {"pure": True}
        if not own_points(statement) and not self._is_known(java_session, inside):
            return {}  # Spark's own form in a session that is nobody's
        caller = self._caller(java_session, inside)
        return {"text": self._at_versions(caller, statement, values)}

    def _script(self, script: str, java_session: Any, inside: RunningStatement | None) -> dict[str, Any]:
        statement = parse(script)
        if own_points(statement):
            script = self._at_versions(self._caller(java_session, inside), statement, ())
        return {"text": script}

    @staticmethod
    def _at_versions(caller: _Caller, statement: Statement, values: Arguments) -> str:
        """A text with points in time as Spark reads it."""
        audited = caller.audited
        with audited.quiet():
            sent = audited.services.time_travel.with_versions(
                audited.spark, bind_arguments(statement, values)
            )
        left = unbound_arguments(statement, sent, values)
        # Spark counts the values by place of the text as it was.
        return sent if left is None or isinstance(left, dict) else with_literals(sent, left)

    def _run(self, text: str, values: Arguments, java_session: Any, inside: RunningStatement | None) -> Any:
        """Run a statement of ours on the record, and give its Dataset."""

        def run() -> Any:
            caller = self._caller(java_session, inside)
            if not caller.known:
                _require_ungoverned(caller.audited, text)
            with ExitStack() as around:
                if inside is not None:
                    around.enter_context(acting_as(inside.identity))
                    ancestry = inside.ancestry
                    around.enter_context(child_of(ancestry.parent_query_id, ancestry.root_query_id))
                frame = caller.audited.run_inside(text, values, lambda spark, sent: spark.sql(sent))
            return java_dataset(frame)

        return self._answered(run, inside)

    @staticmethod
    def _answered(work: Callable[[], Any], inside: RunningStatement | None) -> Any:
        def failed(error: Exception) -> Any:
            refusal = error if isinstance(error, AccessDeniedError) else refusal_of(error)
            if refusal is not None:
                return json.dumps({"refused": f"{refusal.problem}; {refusal.way_out}"})
            thrown = java_exception(error)
            if thrown is not None:
                return thrown  # Spark's own error, as if Spark alone had run the statement
            if inside is not None:
                # The JVM gets the message alone; the driver raises this error again, with its type.
                inside.errors[str(error)] = error
            return json.dumps({"failed": str(error) or type(error).__name__})

        return attempt(work, failed)

    def _inside(self, tags: Iterable[str]) -> RunningStatement | None:
        found = (application.recorder.running.of_tags(tags) for application in self._applications())
        return next((statement for statement in found if statement is not None), None)

    def _is_known(self, java_session: Any, inside: RunningStatement | None) -> bool:
        """Whether somebody has attached the session, or runs the statement around."""
        if inside is not None:
            return True
        context = next(iter(self._applications())).services.spark.sparkContext
        return self._find(session_of(context, java_session)) is not None

    def _caller(self, java_session: Any, inside: RunningStatement | None) -> _Caller:
        """Who asks.

        Raises:
            AccessDeniedError: several audits run in this JVM, and the session belongs to none.
        """
        session_id = str(java_session.sessionUUID())
        around = None if inside is None else inside.audited
        assert around is None or isinstance(around, AuditedSession)  # noqa: S101  it has put itself there
        if around is not None and around.jvm_id == session_id:
            return _Caller(around, inside, known=not around.is_anonymous)
        # In a session that nobody has attached, only the one root of the JVM can be meant.
        applications = list(self._applications())
        context = applications[0].services.spark.sparkContext
        spark = session_of(context, java_session)
        known = self._find(spark) if around is None else None if around.is_anonymous else around
        if known is None and len(applications) > 1:
            raise AccessDeniedError(_NOBODY, _ATTACH)
        if known is not None:
            audited = known if known.jvm_id == session_id else known.of_clone(spark)
            return _Caller(audited, inside, known=True)
        services, recorder = applications[0].services, applications[0].recorder
        nobody = AuditedSession(
            spark,
            Identity(services.config.user),
            services,
            recorder,
            tagging=tagging_of(services.config),
            anonymous=True,
        )
        return _Caller(nobody, inside, known=False)


def _require_ungoverned(audited: AuditedSession, text: str) -> None:
    """Refuse what privileges and policies decide, in a session that nobody is known to run.

    Raises:
        AccessDeniedError: the statement is about governance, or privileges are enforced.
    """
    services = audited.services
    if services.enforcer.enforces or services.policies.governs(parse(text), audited.spark):
        raise AccessDeniedError(_NOBODY, _ATTACH)


def _literals(arguments: str, text: str) -> Arguments:
    values = json.loads(arguments)
    if isinstance(values, dict):
        return {name: SqlLiteral(value) for name, value in values.items()}
    if values and isinstance(values[0], list):
        names, values = values
        return by_marker(text, names, [SqlLiteral(value) for value in values])
    return [SqlLiteral(value) for value in values]
