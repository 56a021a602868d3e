"""The three tables of statements side by side: a row for each query id, with what is wrong about it.

In: query_history, access_history and column_lineage of some days. Out: one frame whose columns are flags.
Each table is read once and grouped by query id, so that no pair of rows is compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, get_args

from audit.record.access_record import CapturedBy, Status
from audit.record.logging_event import LOGGING_EVENTS
from lineage.model import Analysis, Domain
from lineage.names import sql_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from pyspark.sql import DataFrame, GroupedData

_SKEW_SECONDS = 300
"""Clocks of drivers differ: what lies no further ahead is not in the future."""
_OPERATIONS = ("ALTER", "CREATE", "DROP", "REPLACE", "UNDROP")
_FLAGS = {
    "doubled_statements": "s_rows > 1",
    "doubled_records": "a_rows > size(a_hashes)",
    "unordered_times": "s_unordered OR a_first_start != s_start OR a_last_start != s_start",
    "future_times": "s_future",
    "records_without_statement": "paired AND a_rows > 0 AND NOT coalesce(s_succeeded, false)",
    "successes_without_record": "paired AND s_succeeded AND a_rows IS NULL",
    "unknown_execution_status": "s_unknown_status",
    "unknown_analysis": "a_unknown_analysis",
    "unknown_captured_by": "a_unknown_captured_by",
    "unknown_operation_type": "a_unknown_operation",
    "unknown_object_domain": "a_unknown_domain",
    # Of a view's definition the record names neither sources nor columns: its query is not run.
    "loose_edges": (
        "paired AND e_rows > 0 AND (a_rows IS NULL OR size(array_except(e_targets, a_writes)) > 0"
        " OR (NOT a_defines AND (size(array_except(e_sources, a_reads)) > 0"
        " OR size(array_except(e_target_columns, a_writes)) > 0)))"
    ),
    "partial_records": "a_rows > 0 AND NOT a_full",
}
"""What is wrong, by the column of the frame that counts it."""
_TOTALS = {
    "statements": "s_rows",
    "successes": "CAST(s_succeeded AS INT)",
    "failures": "CAST(s_failed AS INT)",
    "denials": "CAST(s_denied AS INT)",
    "records": "a_rows",
    "full_records": "CASE WHEN a_full THEN a_rows END",
    "partial_records": "CASE WHEN NOT a_full THEN a_rows END",
    "edges": "e_rows",
}


@dataclass(frozen=True, slots=True)
class Statements:
    """A row for each query id; `frame` has its day, its counts and its flags.

    Attributes:
        frame: with `query_date`, `query_id` and the columns of `Offenders` and totals.
    """

    frame: DataFrame

    def by_day(self) -> DataFrame:
        """A row for each day: what is there, and how many statements each flag is true for."""
        counts = [f"count_if({flag}) AS {flag}" for flag in FLAGS]
        sums = [f"coalesce(sum(total_{name}), 0) AS {name}" for name in _TOTALS]
        return _aggregated(self.frame.groupBy("query_date"), [*sums, *counts])

    def offenders(self, flag: str) -> DataFrame:
        """The day and the query id of each statement for which a flag is true."""
        return self.frame.where(flag).select("query_date", "query_id")


FLAGS: tuple[str, ...] = tuple(name for name in _FLAGS if name != "partial_records")
"""The flags that are counted; `partial_records` is a flag whose total counts records."""


def statements(
    query: DataFrame, access: DataFrame, edges: DataFrame | None, now: int, paired_since: date | None
) -> Statements:
    """Put the rows of each query id side by side.

    Args:
        query: rows of query_history.
        access: rows of access_history.
        edges: rows of column_lineage; None on a root that is older than lineage.
        now: UTC microseconds.
        paired_since: the first day that all tables keep, where their retention differs; None: they keep the
            same days.
    """
    sides = [_of_query(query, now), _of_access(access)]
    sides.append(_no_edges(query) if edges is None else _of_edges(edges))
    side_by_side = reduce(lambda one, other: one.join(other, "query_id", "full_outer"), sides)
    day = "coalesce(s_date, a_date, e_date)"
    paired = "true" if paired_since is None else f"{day} >= DATE'{paired_since}'"
    dated = side_by_side.selectExpr("*", f"{day} AS query_date", f"{paired} AS paired")
    flags = [f"coalesce({condition}, false) AS {name}" for name, condition in _FLAGS.items()]
    totals = [f"{value} AS total_{name}" for name, value in _TOTALS.items()]
    return Statements(dated.selectExpr("query_date", "query_id", *flags, *totals))


def _of_query(query: DataFrame, now: int) -> DataFrame:
    latest = f"timestamp_micros({now + _SKEW_SECONDS * 1_000_000})"
    events = _listed(sorted(LOGGING_EVENTS))
    return _aggregated(
        query.groupBy("query_id"),
        (
            "min(query_date) AS s_date",
            "count(*) AS s_rows",
            "min(start_time) AS s_start",
            # What has happened to the logging itself is no statement, and has no record.
            f"bool_or(execution_status = 'SUCCESS' AND query_type NOT IN ({events})) AS s_succeeded",
            "bool_or(execution_status = 'FAIL') AS s_failed",
            "bool_or(execution_status = 'DENIED') AS s_denied",
            "bool_or(end_time < start_time) AS s_unordered",
            f"bool_or(start_time > {latest} OR coalesce(end_time > {latest}, false)) AS s_future",
            f"bool_or({_unknown('execution_status', get_args(Status))}) AS s_unknown_status",
        ),
    )


def _of_access(access: DataFrame) -> DataFrame:
    domains = (
        "direct_objects_accessed.objectDomain",
        "base_objects_accessed.objectDomain",
        "objects_modified.objectDomain",
        "policies_referenced.objectDomain",
        # An array of NULL would count as a domain that nobody knows.
        "if(object_modified_by_ddl IS NULL, array(), array(object_modified_by_ddl.objectDomain))",
    )
    unknown = " OR ".join(f"{_has_unknown(one, [domain.value for domain in Domain])}" for one in domains)
    operation = "object_modified_by_ddl.operationType"
    rows = access.selectExpr(
        "query_id",
        "query_date",
        "query_start_time",
        "record_hash",
        "analysis = 'full' AS full",
        f"{_unknown('analysis', get_args(Analysis))} AS unknown_analysis",
        f"{_unknown('captured_by', get_args(CapturedBy))} AS unknown_captured_by",
        f"object_modified_by_ddl IS NOT NULL AND {_unknown(operation, _OPERATIONS)} AS unknown_operation",
        f"{unknown} AS unknown_domain",
        f"{_WRITES} AS writes",
        f"{_READS} AS reads",
        "object_modified_by_ddl IS NOT NULL AND coalesce(size(objects_modified), 0) = 0 AS defines",
    )
    return _aggregated(
        rows.groupBy("query_id"),
        (
            "min(query_date) AS a_date",
            "count(*) AS a_rows",
            "min(query_start_time) AS a_first_start",
            "max(query_start_time) AS a_last_start",
            "collect_set(coalesce(record_hash, '')) AS a_hashes",
            "bool_and(coalesce(full, false)) AS a_full",
            "bool_or(unknown_analysis) AS a_unknown_analysis",
            "bool_or(unknown_captured_by) AS a_unknown_captured_by",
            "bool_or(unknown_operation) AS a_unknown_operation",
            "bool_or(unknown_domain) AS a_unknown_domain",
            # A SWAP has two records.
            "flatten(collect_list(writes)) AS a_writes",
            "flatten(collect_list(reads)) AS a_reads",
            "bool_or(defines) AS a_defines",
        ),
    )


def _of_edges(edges: DataFrame) -> DataFrame:
    source = _key("source_object_id", "source_object_name", "source_column_id")
    target = _key("target_object_id", "target_object_name")
    column = _key("target_object_id", "target_object_name", "target_column_id")
    return _aggregated(
        edges.groupBy("query_id"),
        (
            "min(query_date) AS e_date",
            "count(*) AS e_rows",
            f"collect_set({source}) AS e_sources",
            f"collect_set({target}) AS e_targets",
            f"collect_set({column}) AS e_target_columns",
        ),
    )


def _no_edges(query: DataFrame) -> DataFrame:
    """The same columns for an older root, without a row."""
    none = "CAST(array() AS ARRAY<STRING>)"
    return query.where("false").selectExpr(
        "query_id",
        "query_date AS e_date",
        "0L AS e_rows",
        *(f"{none} AS {name}" for name in ("e_sources", "e_targets", "e_target_columns")),
    )


def _key(*parts: str) -> str:
    """An object or a column as one text; what has no id is known by its name."""
    # `concat_ws` leaves NULLs out, so a column without an id has the key of its object.
    texts = ", ".join(f"CAST({part} AS STRING)" for part in parts)
    return f"concat_ws('|', {texts})"


_OBJECT_KEYS = f"transform(coalesce({{0}}, array()), o -> {_key('o.objectId', 'o.objectName')})"
_COLUMN_KEYS = (
    "flatten(transform(coalesce({0}, array()), o -> transform(coalesce(o.columns, array()),"
    f" c -> {_key('o.objectId', 'o.objectName', 'c.columnId')})))"
)
_DDL_KEY = _key("object_modified_by_ddl.objectId", "object_modified_by_ddl.objectName")
_WRITES = f"concat({_OBJECT_KEYS}, {_COLUMN_KEYS}, array({_DDL_KEY}))".replace("{0}", "objects_modified")
_SOURCE_KEYS = (
    "flatten(transform(coalesce(objects_modified, array()), o -> flatten(transform("
    "coalesce(o.columns, array()), c -> transform(concat(coalesce(c.baseSources, array()),"
    f" coalesce(c.directSources, array())), s -> {_key('s.objectId', 's.objectName', 's.columnId')})))))"
)
_ACCESSED = ("direct_objects_accessed", "base_objects_accessed")
_READ_KEYS = [keys.replace("{0}", side) for side in _ACCESSED for keys in (_OBJECT_KEYS, _COLUMN_KEYS)]
_READS = f"concat({', '.join((*_READ_KEYS, _SOURCE_KEYS))})"


def _unknown(column: str, values: Iterable[str]) -> str:
    return f"coalesce({column} NOT IN ({_listed(values)}), true)"


def _has_unknown(array: str, values: Iterable[str]) -> str:
    return f"coalesce(size(array_except({array}, array({_listed(values)}))), 0) > 0"


def _listed(values: Iterable[str]) -> str:
    return ", ".join(map(sql_text, values))


def _aggregated(grouped: GroupedData, expressions: Iterable[str]) -> DataFrame:
    from pyspark.sql import functions as f

    return grouped.agg(*map(f.expr, expressions))
