"""Records of what no call of the front door stands for: children of scripts, and what went past it.

In: executions. Out: rows. A statement inside BEGIN … END or EXECUTE IMMEDIATE is an execution of its
own under its parent's job tag; an execution without a tag is one that the front door did not see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import lineage
from audit import jvm
from audit.analysis.analyst import PARENTS, plan_hash, plan_text
from audit.analysis.propagating import propagated
from audit.record import CapturedBy, Ended, Started, build_row
from lineage.script import statement_at

if TYPE_CHECKING:
    from audit.analysis.analyst import Analyst
    from audit.analysis.executions import Execution
    from audit.analysis.job import Attachments, Job
    from audit.analysis.spark_catalog import CatalogSnapshot
    from audit.driver import Driver

Row = tuple[str, dict[str, Any]]


def child_rows(
    driver: Driver, analyst: Analyst, job: Job, executions: Sequence[Execution], problems: list[str]
) -> Iterator[Row]:
    """The statements that a script or EXECUTE IMMEDIATE ran, in order.

    `problems` gains why what they wrote may lack tags.
    """
    if job.started.query_type not in PARENTS:
        return
    for execution in executions:
        if execution.is_delta_bookkeeping or _hands_over(execution):
            continue
        text = _child_text(job, execution)
        statement = lineage.parse(text)
        child = replace(
            job.started,
            query_id=driver.new_id(),
            start_time=execution.start_time,
            query_text=text,
            query_type=statement.statement_type,
            is_sql=True,
            parent_query_id=job.started.query_id,
            root_query_id=job.started.root_query_id or job.started.query_id,
        )
        yield _row(driver, analyst, job.catalog, child, execution, "plan", job.attachments, problems)


def _hands_over(execution: Execution) -> bool:
    query_execution = execution.query_execution
    if query_execution.logical().nodeName() == "CompoundBody":
        return True
    return not execution.error and jvm.hands_over(query_execution, execution.name)


def _child_text(job: Job, execution: Execution) -> str:
    """The statement of a script that an execution stands for; EXECUTE IMMEDIATE gives its text itself."""
    text, first, last = jvm.origin(execution.query_execution)
    if text is None:
        return job.started.query_text
    return statement_at(text, first, last) if text == job.started.query_text else text


def unseen_row(driver: Driver, analyst: Analyst, execution: Execution) -> Row | None:
    """The record of an execution that the front door did not see; None for Delta's own reading of its log."""
    if execution.is_delta_bookkeeping or _hands_over(execution):
        return None
    query_execution = execution.query_execution
    session = jvm.session_of(query_execution)
    interceptor = driver.interceptor(session)
    text = jvm.sql_text(query_execution)
    statement = lineage.parse(text) if text else None
    plan = "" if text or execution.error else plan_text(query_execution)
    started = Started(
        query_id=driver.new_id(),
        start_time=execution.start_time,
        user_name=_user(driver, execution, session),
        query_text=text or plan,
        query_type=statement.statement_type if statement else "UNKNOWN",
        action=execution.description,
        session_id=session,
        application_id=driver.application_id,
        is_sql=statement is not None,
        query_hash=None if statement else plan_hash(plan),
    )
    catalog = (interceptor or driver).catalog.snapshot()
    now = driver.policies.attachments_now
    query_id, row = _row(driver, analyst, catalog, started, execution, "listener", now, [])
    return None if _is_log_reading(row) else (query_id, row)


def _row(
    driver: Driver,
    analyst: Analyst,
    catalog: CatalogSnapshot,
    started: Started,
    execution: Execution,
    captured_by: CapturedBy,
    attachments: Attachments,
    problems: list[str],
) -> Row:
    if execution.error:
        ended = Ended("FAIL", execution.end_time, None, execution.error)
        return started.query_id, build_row(started, ended, None)
    finding = analyst.guarded_plan(catalog, execution, started.query_type, captured_by, attachments)
    finding = propagated(driver, catalog, started, finding, problems)
    if started.query_type == "UNKNOWN":
        finding = replace(finding, query_type=finding.access.statement_type)
    return started.query_id, build_row(started, Ended("SUCCESS", execution.end_time), finding)


def _user(driver: Driver, execution: Execution, session: str) -> str:
    """Who `as_user` says, else the session's user, else Spark Connect's, else the application's."""
    if execution.user is not None:
        return execution.user
    interceptor = driver.interceptor(session)
    if interceptor is not None:
        return interceptor.identity.user
    for tag in execution.tags:
        if tag.startswith(_CONNECT):
            return tag.removeprefix(_CONNECT).partition("_Session_")[0]
    return driver.config.user


# ExecuteHolder's job tag in Spark 4.2: SparkConnect_OperationTag_User_<user>_Session_<id>_Operation_<id>
_CONNECT = "SparkConnect_OperationTag_User_"


def _is_log_reading(row: dict[str, Any]) -> bool:
    """Whether all that was read lies in a Delta log: Spark loading a table's state, not a user's read."""
    read = [o for a in row["access"] for o in a["base_objects_accessed"]]
    return bool(read) and all("/_delta_log" in o.get("location", "") for o in read)
