"""The report `retention`: how long records are kept, what was deleted, what tables hold.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.privileges import CONFIGURATIONS
from audit.report.kinds.records import LOGGING
from audit.report.model import Bars, Days, Figure, Kind, Section

_METRICS = "table_storage_metrics"

_KEPT = Figure(
    "records_kept",
    "Records that are kept",
    "From which day to which does each audit table have rows, and how many?",
    """
SELECT 'access_history' AS table_name, min(query_date) AS first_day, max(query_date) AS last_day,
  count(DISTINCT query_date) AS days, count(*) AS rows
FROM account_usage.access_history
UNION ALL
SELECT 'query_history', min(query_date), max(query_date), count(DISTINCT query_date), count(*)
FROM account_usage.query_history
""",
)

_KEPT_EDGES = Figure(
    "lineage_kept",
    "Lineage that is kept",
    "From which day to which does each table of lineage have rows, and how many?",
    """
SELECT 'column_lineage' AS table_name, min(query_date) AS first_day, max(query_date) AS last_day,
  count(DISTINCT query_date) AS days, count(*) AS rows
FROM account_usage.column_lineage
UNION ALL
SELECT 'table_lineage', min(query_date), max(query_date), count(DISTINCT query_date), count(*)
FROM account_usage.table_lineage
""",
    needs="table_lineage",
)

_OVER_TIME = Figure(
    "statements_over_time",
    "Statements over time",
    "How many statements does each day of the period still have on record?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day, count(*) AS statements
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
GROUP BY 1
ORDER BY 1
""",
    Days("day", "statements"),
)

_EMPTY_DAYS = Figure(
    "days_without_a_statement",
    "Days without a statement",
    "Which days of the period have no statement on record: a day of rest, a driver that did not record, or"
    " deleted?",
    """
WITH without AS (
  SELECT CAST(c.day AS DATE) AS day
  FROM (SELECT explode(sequence(:from_day, :to_day, INTERVAL 1 DAY)) AS day) c
  LEFT JOIN (SELECT DISTINCT query_date FROM account_usage.query_history
    WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
      AND NOT startswith(query_type, 'AUDIT_')) q ON q.query_date = c.day
  WHERE q.query_date IS NULL
), runs AS (
  SELECT day, date_sub(day, CAST(row_number() OVER (ORDER BY day) AS INT)) AS run
  FROM without
)
SELECT min(day) AS first_day, max(day) AS last_day, count(*) AS days
FROM runs
GROUP BY run
ORDER BY first_day
""",
)

STATES = """
LATERAL VIEW explode(array(
  named_struct('state', '1 newest version', 'bytes', active_bytes),
  named_struct('state', '2 Time Travel', 'bytes', time_travel_bytes),
  named_struct('state', '3 Fail-safe', 'bytes', failsafe_bytes),
  named_struct('state', '4 for clones', 'bytes', retained_for_clone_bytes),
  named_struct('state', '5 purgeable', 'bytes', purgeable_bytes))) AS s
"""
"""Of `table_storage_metrics`: a row for each state of a table's bytes; numbers keep their order."""

_STATES = Figure(
    "storage_by_state",
    "Storage by state",
    "What are the bytes of the 20 largest tables kept for, in MiB?",
    f"""
WITH largest AS (
  SELECT id
  FROM account_usage.table_storage_metrics
  ORDER BY
    active_bytes + time_travel_bytes + failsafe_bytes + retained_for_clone_bytes + purgeable_bytes DESC, id
  LIMIT 20
), states AS (
  SELECT id, concat_ws('.', table_schema, table_name) AS table_name, s.state, s.bytes
  FROM account_usage.table_storage_metrics {STATES.strip()}
)
SELECT t.table_name, t.state, round(sum(t.bytes) / 1048576, 3) AS mib,
  round(sum(sum(t.bytes)) OVER (PARTITION BY t.table_name) / 1048576, 3) AS in_all
FROM states t
JOIN largest l ON l.id = t.id
WHERE t.bytes > 0
GROUP BY 1, 2
ORDER BY 1, 2
""",  # noqa: S608 - our own text
    Bars("table_name", "mib", "state", "in_all"),
    needs=_METRICS,
)

_STORAGE = Figure(
    "storage_by_table",
    "Storage by table",
    "What does each table hold, in bytes, and was it dropped?",
    """
SELECT concat_ws('.', table_catalog, table_schema, table_name) AS table_name, is_transient,
  active_bytes, time_travel_bytes, failsafe_bytes, retained_for_clone_bytes, purgeable_bytes,
  table_dropped, measured_at
FROM account_usage.table_storage_metrics
ORDER BY active_bytes + time_travel_bytes + failsafe_bytes + retained_for_clone_bytes + purgeable_bytes DESC,
  table_name
""",
    needs=_METRICS,
)

_PERIODS = Figure(
    "retention_of_tables",
    "Retention of tables",
    "How many days of its past does each table keep?",
    """
SELECT concat_ws('.', table_catalog, table_schema, table_name) AS table_name, table_owner, table_type,
  retention_time AS retention_days, created, last_altered, deleted
FROM account_usage.tables
ORDER BY deleted IS NOT NULL, table_name
""",
    needs="tables",
)

RETENTION = Kind(
    "retention",
    "What is kept, and for how long",
    "How far back the records go, what retention has deleted of them, and what the tables keep of their"
    " past.",
    (
        Section(
            "Records",
            "Retention deletes whole days; see also what the cover says was deleted.",
            (_KEPT, _KEPT_EDGES, _OVER_TIME, _EMPTY_DAYS),
        ),
        Section("Settings", "", (CONFIGURATIONS, LOGGING)),
        Section(
            "Storage",
            "As it was measured last, whatever the period; an attached session measures it when a query"
            " names a view of storage.",
            (_STATES, _STORAGE, _PERIODS),
        ),
    ),
)
