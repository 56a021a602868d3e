"""The report `user NAME`: all that is on record of one user.

In: a name. Out: its figures.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from audit.core.plain_text import escaped
from audit.report.binding import bound
from audit.report.errors import ReportNameUnknown
from audit.report.model import About, Bars, Days, Figure, Hours, KeyFigures, Kind, Section

if TYPE_CHECKING:
    from audit.query.tables import Tables
    from audit.report.period import Period

_USERS = "SELECT DISTINCT user_name FROM account_usage.query_history WHERE user_name IS NOT NULL ORDER BY 1"
_SHOWN = 5

_SUMMARY = Figure(
    "user_summary",
    "In numbers",
    "What did this user do, all in all?",
    """
SELECT count(*) AS statements, count_if(reads_data) AS reads, count_if(writes_data) AS writes,
  count_if(is_ddl) AS definitions, count_if(execution_status = 'FAIL') AS failed,
  count_if(execution_status = 'DENIED') AS denied, count(DISTINCT query_date) AS days,
  count(DISTINCT client_host) AS machines,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
""",
    KeyFigures(),
)

_OVER_TIME = Figure(
    "user_over_time",
    "Statements over time",
    "When did this user work, and how did the statements end?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day, execution_status, count(*) AS statements
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Days("day", "statements", "execution_status"),
)

_BY_HOUR = Figure(
    "user_objects_by_hour",
    "What is read at which hour",
    "At which hours of the day (UTC) does this user read the 15 most used objects?",
    """
WITH reads AS (
  SELECT object_name, query_id, hour(query_start_time) AS hour
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
    AND object_domain NOT IN ('FUNCTION', 'PROCEDURE')
), busiest AS (
  SELECT object_name
  FROM reads
  GROUP BY object_name
  ORDER BY count(DISTINCT query_id) DESC, object_name
  LIMIT 15
)
SELECT r.object_name, r.hour, count(DISTINCT r.query_id) AS reads
FROM reads r
JOIN busiest b ON b.object_name = r.object_name
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Hours("object_name", "hour", "reads"),
)

_TYPES = Figure(
    "user_statement_types",
    "Kinds of statements",
    "Which 20 kinds of statements did this user issue most?",
    """
SELECT query_type, count(*) AS statements
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
GROUP BY query_type
ORDER BY statements DESC, query_type
LIMIT 20
""",
    Bars("query_type", "statements"),
)

_READ = Figure(
    "user_read",
    "What the user read",
    "Which tables, views and files did this user read, and which columns of them?",
    """
SELECT object_name, object_domain, count(DISTINCT query_id) AS reads,
  count(DISTINCT query_id) FILTER (WHERE NOT is_direct) AS through_views,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  min(query_start_time) AS first_read, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
GROUP BY object_name, object_domain
ORDER BY reads DESC, object_name
""",
)

_PROTECTED = Figure(
    "user_protected_data",
    "What policies protect",
    "Which protected columns and tables did this user read, and how often was all of it shown?",
    """
SELECT object_name, coalesce(column_name, 'all rows') AS column_name, policy_kind, policy_name,
  count(DISTINCT query_id) AS reads, count(DISTINCT query_id) FILTER (WHERE NOT changed_result) AS shown_all,
  max(query_start_time) AS last_read
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
GROUP BY ALL
ORDER BY shown_all DESC, reads DESC, object_name, column_name, policy_name
""",
)

_WROTE = Figure(
    "user_wrote",
    "What the user changed",
    "Into which tables and files did this user write, by which kinds of statements?",
    """
SELECT o.objectName AS object_name, array_join(sort_array(collect_set(q.query_type)), ', ') AS query_types,
  count(DISTINCT a.query_id) AS statements, sum(q.rows_produced) AS rows,
  max(a.query_start_time) AS last_change
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
LATERAL VIEW explode(a.objects_modified) AS o
WHERE a.query_date BETWEEN :from_day AND :to_day AND a.user_name = :user_name
GROUP BY 1
ORDER BY statements DESC, object_name
""",
)

_DEFINED = Figure(
    "user_definitions",
    "Definitions and privileges",
    "What did this user create, alter, drop, grant or revoke?",
    """
SELECT query_start_time, operation_type, object_domain, object_name, query_text
FROM account_usage.ddl_history
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
ORDER BY query_start_time DESC, object_name, query_id
""",
)

_GRANTED = Figure(
    "user_was_granted",
    "Rights of the user",
    "Which privileges and roles were granted to this user or taken away, and by whom?",
    """
SELECT d.query_start_time, d.user_name, s.query_type,
  get_json_object(d.properties, '$.privileges.value') AS privileges,
  d.object_domain, d.object_name
FROM account_usage.ddl_history d
JOIN account_usage.query_history s ON s.query_id = d.query_id AND s.start_time = d.query_start_time
  AND s.query_date = d.query_date
WHERE d.query_date BETWEEN :from_day AND :to_day AND get_json_object(d.properties, '$.to.value') = 'USER'
  AND get_json_object(d.properties, '$.grantee.value') = :user_name
ORDER BY d.query_start_time DESC, d.object_name, d.query_id
""",
)

_REFUSED = Figure(
    "user_refused",
    "Failed and denied",
    "Which statements of this user failed or were denied?",
    """
SELECT start_time, role_name, execution_status, error_code,
  array_join(objects_tried, ', ') AS objects_tried, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
  AND execution_status IN ('FAIL', 'DENIED')
ORDER BY start_time DESC, query_id
""",
)

_ORIGINS = Figure(
    "user_origins",
    "Where from, in which role, what for",
    "From which machine, by which program, in which role and for which purpose did this user work?",
    """
SELECT os_user, client_address, client_host, client_program, role_name, purpose, query_tag,
  count(*) AS statements,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
GROUP BY ALL
ORDER BY statements DESC, last_statement DESC, client_program, role_name, purpose, query_tag
""",
)

_STATEMENTS = Figure(
    "user_statements",
    "Statements",
    "Which statements did this user issue?",
    """
SELECT start_time, query_type, execution_status, rows_produced AS rows, purpose, query_id, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND user_name = :user_name
ORDER BY start_time DESC, query_id
""",
)


def _find(tables: Tables, name: str, _period: Period) -> About:
    """The user of exactly this name: users are compared as they are.

    Raises:
        ReportNameUnknown: no statement on record is of that user.
    """
    names = [one for (one,) in tables.ask(bound(_USERS, {}, tables.schema), {}).rows]
    if name in names:
        return About(name, {"user_name": name})
    folded = {one.casefold(): one for one in names}
    near = [folded[one] for one in difflib.get_close_matches(name.casefold(), folded, _SHOWN, cutoff=0.5)]
    shown = ", ".join(escaped(one) for one in near or names[:_SHOWN])
    raise ReportNameUnknown(
        f"no statement on record is of a user {name!r}",
        (f"near it: {shown}" if near else f"users on record: {shown}")
        if names
        else "nothing is on record yet",
    )


USER = Kind(
    "user",
    "What {name} did",
    "All that is on record of one user in the period: what was read, changed, refused, from where and what"
    " for.",
    (
        Section("Overview", "", (_SUMMARY, _OVER_TIME, _TYPES, _BY_HOUR)),
        Section("Reads", "", (_READ, _PROTECTED)),
        Section("Changes", "", (_WROTE, _DEFINED)),
        Section("Rights and refusals", "", (_GRANTED, _REFUSED)),
        Section("Origins", "", (_ORIGINS,)),
        Section("Statements", "", (_STATEMENTS,)),
    ),
    _find,
)
