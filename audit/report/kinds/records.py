"""What stands at the head of each report: how much is on record, how surely, and what is missing.

In: nothing. Out: the figures of the cover, and the section about the records themselves.
"""

from __future__ import annotations

from audit.query.coverage import COVERAGE as COVERAGE_SQL
from audit.report.model import Figure, KeyFigures, Section

ON_RECORD = Figure(
    "statements_on_record",
    "Statements on record",
    "How many statements are on record in the period, and how did they end?",
    """
SELECT CAST(coalesce(sum(calls), 0) AS BIGINT) AS statements,
  CAST(coalesce(sum(calls) FILTER (WHERE execution_status = 'SUCCESS'), 0) AS BIGINT) AS succeeded,
  count_if(execution_status = 'FAIL') AS failed,
  count_if(execution_status = 'DENIED') AS denied,
  count_if(execution_status = 'INCOMPLETE') AS incomplete,
  count_if(execution_status = 'RUNNING') AS running,
  count(DISTINCT user_name) AS users,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
""",
    KeyFigures(),
)

COVERAGE = Figure(
    "coverage",
    "Coverage of the analysis",
    "Of the statements that succeeded, how many were analysed in full, from their text or from Spark's plan?",
    COVERAGE_SQL,
    KeyFigures(),
)

INTEGRITY = Figure(
    "integrity",
    "Gaps and verifications",
    "What is known to be missing, and was the rest verified since the period began?",
    """
SELECT count_if(event_type = 'GAP' AND query_date <= :to_day) AS gaps,
  count_if(event_type = 'AUDIT_SUPPRESS' AND query_date <= :to_day) AS pauses,
  count_if(event_type = 'AUDIT_VERIFY') AS verifications,
  count_if(CASE WHEN event_type = 'AUDIT_VERIFY' THEN
    coalesce(CAST(get_json_object(details, '$.since') AS DATE), :from_day) <= :from_day
    AND coalesce(CAST(get_json_object(details, '$.until') AS DATE), query_date) >= :to_day END)
    AS of_whole_period,
  max(event_time) FILTER (WHERE event_type = 'AUDIT_VERIFY') AS last_verified,
  max_by(CASE WHEN event_type = 'AUDIT_VERIFY' THEN CAST(get_json_object(details, '$.faults') AS BIGINT) END,
    CASE WHEN event_type = 'AUDIT_VERIFY' THEN event_time END) AS faults_of_the_last
FROM account_usage.logging_history
WHERE query_date >= :from_day
""",
    KeyFigures(),
)

GAPS = Figure(
    "gaps",
    "Gaps",
    "When were records lost, and why?",
    """
SELECT event_time, get_json_object(details, '$.until') AS until, client_host, message
FROM account_usage.logging_history
WHERE event_type = 'GAP' AND query_date BETWEEN :from_day AND :to_day
ORDER BY event_time, event_id
""",
)

VERIFICATIONS = Figure(
    "verifications",
    "Verifications",
    "Who verified records since the period began, of which days, and what was found?",
    """
SELECT event_time, user_name,
  coalesce(get_json_object(details, '$.since'), 'the first one') AS first_day,
  coalesce(get_json_object(details, '$.until'), 'the last one') AS last_day,
  CAST(get_json_object(details, '$.records') AS BIGINT) AS records,
  CAST(get_json_object(details, '$.statements') AS BIGINT) AS statements,
  CAST(get_json_object(details, '$.faults') AS BIGINT) AS faults
FROM account_usage.logging_history
WHERE event_type = 'AUDIT_VERIFY' AND query_date >= :from_day
ORDER BY event_time DESC, event_id
""",
)

DELETIONS = Figure(
    "deleted_by_retention",
    "Deleted by retention",
    "Which days of the audit tables were deleted since the period began, by whom?",
    """
SELECT event_time, user_name, d.`table` AS table_name, d.days_kept, d.oldest_kept,
  size(d.days) AS days_deleted,
  array_min(d.days) AS first_deleted, array_max(d.days) AS last_deleted, d.rows AS rows_deleted
FROM account_usage.logging_history
LATERAL VIEW explode(from_json(get_json_object(details, '$.deleted'),
  'array<struct<`table`:string,days_kept:int,oldest_kept:string,rows:bigint,days:array<string>>>')) AS d
WHERE event_type = 'AUDIT_RETAIN' AND query_date >= :from_day
ORDER BY event_time DESC, table_name, event_id
""",
)

DELETED = Figure(
    "deleted_in_numbers",
    "Deleted by retention, in numbers",
    "How much was deleted since the period began, and was any of it of the period?",
    """
SELECT count(*) AS deletions, coalesce(sum(size(d.days)), 0) AS days_deleted,
  coalesce(sum(d.rows), 0) AS rows_deleted,
  coalesce(sum(size(filter(d.days, one -> CAST(one AS DATE) BETWEEN :from_day AND :to_day))), 0)
    AS days_of_period,
  max(d.oldest_kept) AS oldest_kept
FROM account_usage.logging_history
LATERAL VIEW explode(from_json(get_json_object(details, '$.deleted'),
  'array<struct<oldest_kept:string,rows:bigint,days:array<string>>>')) AS d
WHERE event_type = 'AUDIT_RETAIN' AND query_date >= :from_day AND size(d.days) > 0
""",
    KeyFigures(),
)

LOGGING = Figure(
    "logging_events",
    "The logging itself",
    "When was recording started, paused, resumed and ended, and what else was done to the logging, by whom?",
    """
SELECT event_time, event_type, user_name, os_user, action, round(duration / 1000, 1) AS seconds,
  client_host, client_program, session_id
FROM account_usage.logging_history
WHERE query_date BETWEEN :from_day AND :to_day
ORDER BY event_time DESC, event_id
""",
)

READ_BY_COMMANDS = Figure(
    "audit_tables_read",
    "Who read the records",
    "Who asked the audit tables by `audit query`, `audit report` and `audit export`, and what for?",
    """
SELECT event_time, user_name, os_user, action, client_host,
  coalesce(get_json_object(details, '$.query'), get_json_object(details, '$.sql'),
    concat_ws(' ', get_json_object(details, '$.report'), get_json_object(details, '$.about'),
      get_json_object(details, '$.tables'), get_json_object(details, '$.format'))) AS details
FROM account_usage.logging_history
WHERE query_date BETWEEN :from_day AND :to_day
  AND event_type IN ('AUDIT_QUERY', 'AUDIT_REPORT', 'AUDIT_EXPORT')
ORDER BY event_time DESC, event_id
""",
)

LOGGING_COUNTS = Figure(
    "logging_event_counts",
    "Events of the logging",
    "How often was recording started, paused and ended?",
    """
SELECT event_type, count(*) AS events, count(DISTINCT user_name) AS users,
  min(event_time) AS first_event, max(event_time) AS last_event
FROM account_usage.logging_history
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY event_type
ORDER BY event_type
""",
)

NOT_IN_FULL = Figure(
    "not_analysed_in_full",
    "Not analysed in full",
    "Which statements were not analysed in full, and why: what must be looked at by hand?",
    """
SELECT start_time, user_name, analysis, analysis_reason, query_type, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND analysis <> 'full'
ORDER BY start_time DESC, query_id
""",
)

INCOMPLETE = Figure(
    "incomplete_statements",
    "Statements without an end",
    "Which statements have no end on record, since their driver died?",
    """
SELECT start_time, user_name, query_type, client_host, application_id, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status = 'INCOMPLETE' AND query_type <> 'GAP'
ORDER BY start_time DESC, query_id
""",
)

COVER = (ON_RECORD, COVERAGE, INTEGRITY, DELETED)
"""The figures whose numbers stand on the cover."""

RECORDS = Section(
    "The records themselves",
    "What the figures of this report rest on. A gap is a time in which statements may have run without a"
    " record. A verification compares each record with its hash, and each statement with its records.",
    (*COVER, GAPS, INCOMPLETE, NOT_IN_FULL, VERIFICATIONS, DELETIONS, LOGGING_COUNTS),
)
"""Of each report."""
