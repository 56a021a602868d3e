"""The job and the run of a statement.

In: its row of query_history. Out: names, and the facets of job and run. A job is what runs again: statements
of one program that differ in literals alone are runs of one job.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from audit.core.ids import is_id
from audit.exchange.history import RecordedStatement, Row
from audit.exchange.openlineage.facets import Json, adapter_version, facet, facets

_SPARK = re.compile(r"PySpark (\S+)")
_OF_NAME = 12  # letters of a hash that tell jobs apart
_TOLD = (
    "user_name",
    "role_name",
    "query_tag",
    "purpose",
    "session_id",
    "application_id",
    "client_host",
    "os_user",
)
"""Columns of query_history that become tags of the run."""
_TOLD_OF_RECORD = ("captured_by", "analysis", "analysis_reason")
_STREAMED = ("STREAM", "STREAM_BATCH")
_QUERIES = ("SELECT", "EXPLAIN", "SHOW", "DESCRIBE")


def run_id(query_id: str) -> str:
    """The id of a statement's run: its own, which is a UUID; one made of it where it is none.

    >>> run_id("q1") == run_id("q1") != run_id("q2")
    True
    """
    return query_id if is_id(query_id) else str(uuid.uuid5(uuid.NAMESPACE_URL, f"query_id:{query_id}"))


def job_name(query: Row) -> str:
    """The name of a statement's job.

    >>> job_name({"client_program": "etl.py", "query_type": "MERGE", "query_hash": "0123456789abcdef"})
    'etl.py.merge.0123456789ab'
    """
    told = query.get("query_parameterized_hash") or query.get("query_hash") or query.get("action") or ""
    parts = (query.get("client_program") or "spark", str(query["query_type"]).lower(), told[:_OF_NAME])
    return ".".join(part for part in parts if part)


def job(query: Row, namespace: str) -> Json:
    """The job with its facets."""
    return {"namespace": namespace, "name": job_name(query), "facets": _job_facets(query)}


def run(statement: RecordedStatement, parents: tuple[Row | None, Row | None], namespace: str) -> Json:
    """The run with its facets.

    Args:
        statement: of the run.
        parents: the rows of the statement that ran it and of the topmost one, None for those that are not
            on record.
        namespace: of jobs.
    """
    query = statement.query
    found = facets(
        processing_engine=_engine(query),
        parent=_parent(parents, namespace),
        tags=_tags(statement),
        errorMessage=_error(query),
    )
    return {"runId": run_id(statement.query_id), "facets": found}


def _job_facets(query: Row) -> Json:
    text, is_sql = query.get("query_text") or "", query.get("query_parameterized_hash") is not None
    streams = query["query_type"] in _STREAMED
    kind = "QUERY" if str(query["query_type"]).startswith(_QUERIES) else "COMMAND"
    return facets(
        jobType=facet(
            "JobTypeJobFacet",
            processingType="STREAMING" if streams else "BATCH",
            integration="SPARK",
            jobType=kind,
        ),
        sql=facet("SQLJobFacet", query=text, dialect="spark") if text and is_sql else None,
        # What a DataFrame's action ran, as the record has it.
        sourceCode=facet("SourceCodeJobFacet", language="python", sourceCode=text)
        if text and not is_sql
        else None,
    )


def _engine(query: Row) -> Json:
    found = _SPARK.search(query.get("client_version") or "")
    return facet(
        "ProcessingEngineRunFacet",
        name="spark",
        version=found[1] if found else "unknown",
        openlineageAdapterVersion=adapter_version(),
    )


def _parent(parents: tuple[Row | None, Row | None], namespace: str) -> Json | None:
    parent, root = parents
    if parent is None:
        return None
    body: dict[str, Any] = _reference(parent, namespace)
    if root is not None:
        body["root"] = _reference(root, namespace)
    return facet("ParentRunFacet", **body)


def _reference(query: Row, namespace: str) -> Json:
    return {
        "run": {"runId": run_id(query["query_id"])},
        "job": {"namespace": namespace, "name": job_name(query)},
    }


def _tags(statement: RecordedStatement) -> Json:
    told = {name: statement.query.get(name) for name in _TOLD}
    record = statement.accesses[0] if statement.accesses else {}
    told |= {name: record.get(name) for name in _TOLD_OF_RECORD}
    found = [{"key": name, "value": value, "source": "SPARK"} for name, value in told.items() if value]
    return facet("TagsRunFacet", tags=found)


def _error(query: Row) -> Json | None:
    message, code = query.get("error_message"), query.get("error_code")
    if not (message or code):
        return None
    # An error class of Spark's is DIVIDE_BY_ZERO, a type of Python's ZeroDivisionError.
    language = "PYTHON" if code and not code.replace(".", "_").isupper() else "JAVA"
    return facet(
        "ErrorMessageRunFacet",
        message=f"[{code}] {message or ''}".strip() if code and code not in (message or "") else message,
        programmingLanguage=language,
    )
