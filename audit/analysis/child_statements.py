"""Records executions without an audited call: statements of scripts, and those that only the listener saw.

In: executions. Out: rows. A statement inside BEGIN … END or EXECUTE IMMEDIATE is an execution of its
own under its parent's job tag; an execution without a tag did not come through PySpark's methods.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import lineage
from audit.analysis.analyst import PARENTS, plan_hash
from audit.core.identity import Tagging
from audit.core.origin import Origin
from audit.record.access_record import CapturedBy, Ended, Started, issued
from audit.spark.plans import query_executions
from lineage.sql.script import statement_at

if TYPE_CHECKING:
    from audit.analysis.analyst import Analyst
    from audit.analysis.sessions import Session, Sessions
    from audit.analysis.tag_propagation import TagPropagation
    from audit.analysis.work_items import Attachments, Job
    from audit.policies.service import Policies
    from audit.record.redaction import Redaction
    from audit.spark.catalog.session_catalog import CatalogSnapshot, SessionCatalog
    from audit.spark.plans.executions import Execution

Row = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Issuer:
    """Who issues what nobody is known to have issued."""

    user: str
    origin: Origin
    tagging: Tagging


class ExecutionRows:
    """Rows of executions, made on the worker's thread.

    Args:
        analyst: reads their plans.
        tags: propagates tags to the tables that they wrote.
        policies: in force now.
        redaction: takes secrets out of the rows.
        sessions: tells the user of an execution.
        catalog: for the executions of sessions that are not audited.
        new_id: gives query ids.
        application_id: Spark's.
        issuer: of executions of unknown sessions: the user, where they come from, what they are called.
    """

    def __init__(
        self,
        analyst: Analyst,
        tags: TagPropagation,
        policies: Policies,
        redaction: Redaction,
        sessions: Sessions,
        catalog: SessionCatalog,
        new_id: Callable[[], str],
        application_id: str,
        issuer: Issuer,
    ) -> None:
        self._analyst = analyst
        self._tags = tags
        self._policies = policies
        self._redaction = redaction
        self._sessions = sessions
        self._catalog = catalog
        self._new_id = new_id
        self._application_id = application_id
        self._issuer = issuer

    def children(self, job: Job, executions: Sequence[Execution], problems: list[str]) -> Iterator[Row]:
        """The statements that a script or EXECUTE IMMEDIATE ran, in order.

        `problems` takes the reasons why tags may be missing.
        """
        if job.started.query_type not in PARENTS:
            return
        counts = self._analyst.counts
        for execution in executions:
            if self._is_no_statement(execution):
                continue
            if _gives_result(execution):
                counts.handed_over += 1
                continue
            counts.of_their_own += 1
            text = _child_text(job, execution)
            statement = lineage.parse(text)
            child = replace(
                job.started,
                query_id=self._new_id(),
                start_time=execution.start_time,
                query_text=text,
                query_type=statement.statement_type,
                query_hash=None,
                query_parameterized_hash=None,
                is_sql=True,
                parent_query_id=job.started.query_id,
                root_query_id=job.started.root_query_id or job.started.query_id,
            )
            attachments = self._policies.attachments_at(execution.start_time, job.token)
            yield self._row(job.catalog, child, execution, "plan", attachments, problems)

    def unseen(
        self, execution: Execution, parent: Started | None = None, token: str | None = None
    ) -> Row | None:
        """The record of an execution that only the listener saw; None if Delta read its own log.

        Args:
            execution: has ended.
            parent: the statement that it ran inside of, whose user and session it has.
            token: the identity of that user, see `Enforcer.token`.
        """
        if self._is_no_statement(execution):
            return None
        query_execution = execution.query_execution
        session = self._session(query_execution)
        text = query_executions.sql_text(query_execution)
        statement = lineage.parse(text) if text else None
        plan = "" if text or execution.error else self._analyst.plan_text(query_execution)
        started = Started(
            query_id=self._new_id(),
            start_time=execution.start_time,
            user_name=self._user(execution, session),
            query_text=text or plan,
            query_type=statement.statement_type if statement else "UNKNOWN",
            action=execution.description,
            session_id=session.session_id if session else query_executions.session_of(query_execution),
            application_id=self._application_id,
            is_sql=statement is not None,
            query_hash=None if statement else plan_hash(plan),
        )
        tagging = self._issuer.tagging if session is None else session.tagging()
        if parent is not None:
            tagging = Tagging(parent.query_tag, parent.purpose)
            started = replace(
                started,
                user_name=parent.user_name,
                role_name=parent.role_name,
                database_name=parent.database_name,
                schema_name=parent.schema_name,
                session_id=parent.session_id,
                parent_query_id=parent.query_id,
                root_query_id=parent.root_query_id,
            )
        started = issued(started, self._issuer.origin, tagging)
        catalog = self._catalog if session is None else session.catalog
        attachments = self._policies.attachments_at(execution.start_time, token)
        query_id, row = self._row(catalog.snapshot(), started, execution, "listener", attachments, [])
        if _is_log_reading(row):
            self._analyst.counts.of_delta += 1
            return None
        self._analyst.counts.of_their_own += 1
        return query_id, row

    def _is_no_statement(self, execution: Execution) -> bool:
        """Whether Delta loads a table's state, or a result that is on record is handed over."""
        if execution.is_delta_bookkeeping or _reads_table_states(execution):
            self._analyst.counts.of_delta += 1
            return True
        if _hands_over(execution):
            self._analyst.counts.handed_over += 1
            return True
        return False

    def _session(self, query_execution: Any) -> Session | None:
        """The audited session of an execution, or the one that its session is a clone of."""
        found = self._sessions.find(query_executions.session_of(query_execution))
        if found is not None:
            return found
        return self._sessions.find(self._policies.enforcer.marks.of_plan(query_execution))

    def _row(
        self,
        catalog: CatalogSnapshot,
        started: Started,
        execution: Execution,
        captured_by: CapturedBy,
        attachments: Attachments,
        problems: list[str],
    ) -> Row:
        if execution.error:
            ended = Ended("FAIL", execution.end_time, execution.error_code or None, execution.error)
            return started.query_id, self._redaction.row(started, ended, None)
        finding = self._analyst.guarded_plan(catalog, execution, started, captured_by, attachments)
        finding = self._tags.propagated(catalog, started, finding, problems)
        if started.query_type == "UNKNOWN":
            finding = replace(finding, query_type=finding.access.statement_type)
        ended = Ended("SUCCESS", execution.end_time)
        return started.query_id, self._redaction.row(started, ended, finding)

    def _user(self, execution: Execution, session: Session | None) -> str:
        """The user of `as_user`, else of the session, else of Spark Connect, else of the application."""
        if execution.user is not None:
            return execution.user
        if session is not None:
            return session.identity.user
        for tag in execution.tags:
            if tag.startswith(_CONNECT):
                return tag.removeprefix(_CONNECT).partition("_Session_")[0]
        return self._issuer.user


def _hands_over(execution: Execution) -> bool:
    query_execution = execution.query_execution
    if query_execution.logical().nodeName() in ("CompoundBody", "AuditedStatement"):
        return True  # what they run is on record
    return not execution.error and query_executions.hands_over(query_execution, execution.name)


def _reads_table_states(execution: Execution) -> bool:
    return not execution.error and query_executions.reads_table_states(execution.query_execution)


def _gives_result(execution: Execution) -> bool:
    """Whether the rows of a script's last query are handed over: Spark (4.2) has run it, and keeps an RDD."""
    found = execution.query_execution
    return query_executions.reads_rdd(found) and query_executions.sql_text(found) is None


def _child_text(job: Job, execution: Execution) -> str:
    """The text of a child statement: a part of the script, or the whole text of an EXECUTE IMMEDIATE."""
    text, first, last = query_executions.origin(execution.query_execution)
    if text is None:
        return job.started.query_text
    # A script may come to Spark with some of its statements inside EXECUTE IMMEDIATE.
    is_script = lineage.parse(text).statement_type == "SCRIPT"
    return statement_at(text, first, last) if is_script else text


# ExecuteHolder's job tag in Spark 4.2: SparkConnect_OperationTag_User_<user>_Session_<id>_Operation_<id>
_CONNECT = "SparkConnect_OperationTag_User_"


def _is_log_reading(row: dict[str, Any]) -> bool:
    """Whether only files of a Delta log were read: Delta loads a table's state, no user reads."""
    read = [o for a in row["access"] for o in a["base_objects_accessed"]]
    return bool(read) and all("/_delta_log" in o.get("location", "") for o in read)
