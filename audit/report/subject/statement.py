"""The statements that read the tables of a key.

In: the record. Out: a `Reading` for each statement and table, with what the replay needs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from audit.report.binding import Value, bound
from audit.report.subject.condition import is_sql

if TYPE_CHECKING:
    from audit.query.tables import Tables

READINGS = """
SELECT r.query_start_time, r.query_id, r.object_name, r.object_id, r.columns, r.user_name,
  q.purpose, q.query_tag, q.query_type, q.query_text, q.query_hash, a.object_versions, a.policies_referenced,
  r.is_direct AND NOT exists(a.direct_objects_accessed,
    o -> o.objectDomain NOT IN ('Table', 'EXTERNAL TABLE', 'STAGE')) AS only_by_name,
  transform(a.direct_objects_accessed, o -> o.objectName) AS named,
  transform(filter(a.direct_objects_accessed,
    o -> o.objectDomain NOT IN ('Table', 'EXTERNAL TABLE', 'STAGE')), o -> o.objectName) AS through
FROM (
  SELECT query_id, query_start_time, query_date, user_name, object_id, max(object_name) AS object_name,
    array_join(sort_array(collect_set(column_name)), ', ') AS columns, bool_or(is_direct) AS is_direct
  FROM account_usage.columns_read
  WHERE query_date BETWEEN :from_day AND :to_day AND is_base AND object_id IN :object_ids
  GROUP BY query_id, query_start_time, query_date, user_name, object_id
) r
JOIN account_usage.access_history a ON a.query_id = r.query_id AND a.query_start_time = r.query_start_time
  AND a.query_date = r.query_date
JOIN account_usage.query_history q ON q.query_id = r.query_id AND q.start_time = r.query_start_time
  AND q.query_date = r.query_date
WHERE a.query_date BETWEEN :from_day AND :to_day AND q.query_date BETWEEN :from_day AND :to_day
ORDER BY r.query_start_time DESC, r.object_name, r.query_id
"""
"""One row for each statement and table. `only_by_name`: no view or function stood between them."""

_VIEWS = """
SELECT relation.object_name, coalesce(relation.view_definition, '')
FROM account_usage.object_catalog
WHERE relation.object_domain = 'VIEW'
"""
# Delta's change data feed (4.4): its function, its column, its relation in a plan. What is read so is of many
# versions, and the record has the newest.
_CHANGES = ("table_changes", "_change_type", "deltacdfrelation")
_PLAN = "Relation"


@dataclass(frozen=True, slots=True)
class Reading:
    """A statement that read a table.

    Attributes:
        at: when it began (UTC, without a zone).
        query_id: of the statement.
        object_name: the table's, then.
        object_id: the table's.
        columns: what it read of it.
        user_name: who issued it.
        purpose: what for, if told.
        query_tag: the tag, if there is one.
        text: the statement's text.
        text_hash: over the true text, which may be another one where it was redacted.
        versions: of the table that it read, oldest first.
        masks: the policies that changed columns of this table for this reader, as text.
        masked: the columns that policies may have changed, in lower case.
        hidden_by: row access policies that may have hidden rows.
        named: the names of all that the statement names.
        is_of_one_version: it read the versions on record as they are: no stream, no changes of the table.
        is_plain: nothing but the statement itself named the table: no view, no function, no other's policy.
    """

    at: datetime
    query_id: str
    object_name: str
    object_id: int
    columns: str
    user_name: str
    purpose: str | None
    query_tag: str | None
    text: str
    text_hash: str | None
    versions: tuple[int, ...]
    masks: str
    masked: frozenset[str]
    hidden_by: tuple[str, ...]
    named: tuple[str, ...]
    is_of_one_version: bool
    is_plain: bool


def readings(tables: Tables, values: Mapping[str, Value]) -> list[Reading]:
    """All of them, the newest first.

    Args:
        tables: of the root.
        values: of the parameters: the period's, and `object_ids`.
    """
    answer = tables.ask(bound(READINGS, values, tables.schema), {})
    views = _known_views(tables)
    return [_reading(dict(zip(answer.columns, row, strict=True)), views) for row in answer.rows]


def _known_views(tables: Tables) -> frozenset[str]:
    """The views as a session has measured them last; none where one of them is made of a table's changes."""
    if not tables.has("object_catalog"):
        return frozenset()
    rows = tables.ask(bound(_VIEWS, {}, tables.schema), {}).rows
    if any(_of_changes(text) for _, text in rows):
        return frozenset()
    return frozenset(name for name, _ in rows)


def _of_changes(text: str) -> bool:
    lowered = text.casefold()
    return any(one in lowered for one in _CHANGES)


def _is_of_one_version(row: Mapping[str, Any], views: Collection[str]) -> bool:
    text = row["query_text"] or ""
    if str(row["query_type"]).startswith("STREAM") or _of_changes(text):
        return False
    # What is neither SQL nor shows a plan may be anything.
    return (is_sql(text) or _PLAN in text) and set(row["through"] or ()) <= set(views)


def _reading(row: Mapping[str, Any], views: Collection[str]) -> Reading:
    own = row["object_id"]
    policies = row["policies_referenced"] or []
    columns = [one for of in policies if of["objectId"] == own for one in of["columns"] or []]
    masking = [(one["columnName"], policy) for one in columns for policy in _changing(one["policies"])]
    rows = [policy for of in policies if of["objectId"] == own for policy in _changing(of["policies"])]
    return Reading(
        at=row["query_start_time"],
        query_id=row["query_id"],
        object_name=row["object_name"],
        object_id=own,
        columns=row["columns"] or "",
        user_name=row["user_name"],
        purpose=row["purpose"],
        query_tag=row["query_tag"],
        text=row["query_text"] or "",
        text_hash=row["query_hash"],
        versions=_versions(row["object_versions"] or [], own),
        masks=", ".join(f"{column} by {_named(policy)}" for column, policy in masking),
        masked=frozenset(column.casefold() for column, _ in masking),
        hidden_by=tuple(policy["policyName"] for policy in rows),
        named=tuple(row["named"] or ()),
        is_of_one_version=_is_of_one_version(row, views),
        is_plain=bool(row["only_by_name"]) and all(of["objectId"] == own for of in policies),
    )


def _versions(recorded: Sequence[Mapping[str, Any]], own: int) -> tuple[int, ...]:
    found = {one["version"] for one in recorded if one["objectId"] == own and one["access"] == "read"}
    return tuple(sorted(one for one in found if one is not None))


def _changing(policies: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    """Those that may have changed what the reader saw: `changedResult` is null where nobody can tell."""
    return [one for one in policies or [] if one["changedResult"] is not False]


def _named(policy: Mapping[str, Any]) -> str:
    return f"{policy['policyName']}{'' if policy['changedResult'] else ' (perhaps)'}"
