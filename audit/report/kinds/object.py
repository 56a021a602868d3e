"""The report `object NAME`: all that is on record of one table, view or file.

In: a name. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.object_names import find_object
from audit.report.model import Bars, Days, Figure, Hours, KeyFigures, Kind, Picture, Section

_EDGES = "table_lineage"

_SUMMARY = Figure(
    "object_summary",
    "In numbers",
    "How often was this object read, by how many users?",
    """
SELECT count(DISTINCT query_id) AS reads, count(DISTINCT user_name) AS readers,
  count(DISTINCT query_id) FILTER (WHERE NOT is_direct) AS through_views,
  count(DISTINCT column_name) AS columns_read, count(DISTINCT query_date) AS days,
  min(query_start_time) AS first_read, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
""",
    KeyFigures(),
)

_NAMES = Figure(
    "object_names",
    "Its names",
    "Under which names and ids does the period know this object? An id survives a rename.",
    """
SELECT object_name, object_id, object_domain,
  min(query_start_time) AS first_seen, max(query_start_time) AS last_seen
FROM (
  SELECT object_name, object_id, object_domain, query_start_time
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day
  UNION ALL
  SELECT object_name, object_id, object_domain, query_start_time
  FROM account_usage.columns_written
  WHERE query_date BETWEEN :from_day AND :to_day
  UNION ALL
  SELECT object_name, object_id, object_domain, query_start_time
  FROM account_usage.ddl_history
  WHERE query_date BETWEEN :from_day AND :to_day
)
WHERE object_name = :object_name OR object_id IN :object_ids
GROUP BY 1, 2, 3
ORDER BY last_seen DESC, object_name
""",
)

_READS_OVER_TIME = Figure(
    "object_reads_over_time",
    "Reads over time",
    "When was this object read, by name or through a view?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day,
  CASE WHEN named THEN 'by name' ELSE 'through a view' END AS how,
  count(*) AS reads
FROM (
  SELECT query_id, query_date, bool_or(read_kind = 'direct') AS named
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
  GROUP BY query_id, query_date
)
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Days("day", "reads", "how"),
)

_BY_HOUR = Figure(
    "object_readers_by_hour",
    "Who reads it at which hour",
    "At which hours of the day (UTC) do its 15 busiest readers read it?",
    """
WITH reads AS (
  SELECT user_name, query_id, hour(query_start_time) AS hour
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
), busiest AS (
  SELECT user_name
  FROM reads
  GROUP BY user_name
  ORDER BY count(DISTINCT query_id) DESC, user_name
  LIMIT 15
)
SELECT r.user_name, r.hour, count(DISTINCT r.query_id) AS reads
FROM reads r
JOIN busiest b ON b.user_name = r.user_name
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Hours("user_name", "hour", "reads"),
)

_READERS = Figure(
    "object_readers",
    "Who read it",
    "Who read this object, how often, by name or through a view, and which columns?",
    """
SELECT user_name, count(DISTINCT query_id) AS reads,
  count(DISTINCT query_id) FILTER (WHERE NOT is_direct) AS through_views,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  min(query_start_time) AS first_read, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
GROUP BY user_name
ORDER BY reads DESC, user_name
""",
)

_COLUMNS = Figure(
    "object_columns_read",
    "Columns read",
    "Which 20 of its columns were read most?",
    """
SELECT column_name, count(DISTINCT query_id) AS reads
FROM account_usage.columns_read
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
  AND column_name IS NOT NULL
GROUP BY column_name
ORDER BY reads DESC, column_name
LIMIT 20
""",
    Bars("column_name", "reads"),
)

_POLICIES = Figure(
    "object_policies",
    "Policies in force",
    "Which policies stood before its readers, and whom did they show all?",
    """
SELECT user_name, coalesce(column_name, 'all rows') AS column_name, policy_kind, policy_name,
  count(DISTINCT policy_version) AS versions, count(DISTINCT query_id) AS reads,
  count(DISTINCT query_id) FILTER (WHERE NOT changed_result) AS shown_all, max(query_start_time) AS last_read
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
GROUP BY ALL
ORDER BY user_name, column_name, policy_name
""",
)

_STATEMENTS = Figure(
    "object_reads",
    "Statements that read it",
    "Which statements read this object, and what for?",
    """
SELECT r.query_start_time, r.user_name, q.role_name,
  CASE WHEN r.named THEN 'by name' ELSE 'through a view' END AS how, q.purpose, q.query_id, q.query_text
FROM (
  SELECT query_id, query_start_time, query_date, user_name, bool_or(read_kind = 'direct') AS named
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
  GROUP BY query_id, query_start_time, query_date, user_name
) r
JOIN account_usage.query_history q ON q.query_id = r.query_id AND q.start_time = r.query_start_time
  AND q.query_date = r.query_date
WHERE q.query_date BETWEEN :from_day AND :to_day
ORDER BY r.query_start_time DESC, q.query_id
""",
)

_CHANGES = Figure(
    "object_changes",
    "Changes of its data",
    "Who changed its data, when, and which version came of it?",
    """
SELECT a.query_start_time, a.user_name, q.query_type,
  get(filter(a.object_versions, v -> v.objectName = o.objectName AND v.access = 'write'), 0).version
    AS version,
  q.rows_produced AS rows, q.purpose, q.query_text
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
LATERAL VIEW explode(a.objects_modified) AS o
WHERE a.query_date BETWEEN :from_day AND :to_day
  AND (o.objectName = :object_name OR o.objectId IN :object_ids)
ORDER BY a.query_start_time DESC, a.query_id
""",
)

_DEFINITIONS = Figure(
    "object_definitions",
    "Changes of its definition and privileges",
    "Who created, altered, dropped or brought back this object, or granted a privilege on it?",
    """
SELECT query_start_time, user_name, operation_type, object_name,
  get_json_object(properties, '$.objectName.value') AS new_name, query_text
FROM account_usage.ddl_history
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
ORDER BY query_start_time DESC, query_id
""",
)

_REFUSED = Figure(
    "object_refused",
    "Failed and denied",
    "Which statements that name this object failed or were denied?",
    """
SELECT start_time, user_name, role_name, query_type, execution_status, error_code, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status IN ('FAIL', 'DENIED')
  AND array_contains(objects_tried, :object_name)
ORDER BY start_time DESC, query_id
""",
)

_FLOW = Figure(
    "object_flow",
    "Where its data comes from and where it goes",
    "Which objects feed this one, and which does it feed, over up to three statements each?",
    """
WITH RECURSIVE edge AS (
  SELECT source_object_id, source_object_name, source_object_domain,
    target_object_id, target_object_name, target_object_domain,
    bool_and(is_indirect) AS is_indirect, count(DISTINCT query_id) AS statements,
    min(query_start_time) AS first_written, max(query_start_time) AS last_written,
    sort_array(collect_set(user_name)) AS users
  FROM account_usage.table_lineage
  WHERE query_date BETWEEN :from_day AND :to_day AND source_kind = 'direct'
    AND source_object_id <> target_object_id
  GROUP BY 1, 2, 3, 4, 5, 6
), upward (hop, object_id) AS (
  SELECT 1, source_object_id FROM edge WHERE target_object_id IN :object_ids
  UNION ALL
  SELECT u.hop + 1, e.source_object_id
  FROM upward u JOIN edge e ON e.target_object_id = u.object_id WHERE u.hop < 2
), downward (hop, object_id) AS (
  SELECT 1, target_object_id FROM edge WHERE source_object_id IN :object_ids
  UNION ALL
  SELECT d.hop + 1, e.target_object_id
  FROM downward d JOIN edge e ON e.source_object_id = d.object_id WHERE d.hop < 2
)
SELECT source_object_id, source_object_name, source_object_domain,
  target_object_id, target_object_name, target_object_domain,
  is_indirect, statements, first_written, last_written, users
FROM edge
WHERE target_object_id IN :object_ids OR target_object_id IN (SELECT object_id FROM upward)
  OR source_object_id IN :object_ids OR source_object_id IN (SELECT object_id FROM downward)
ORDER BY statements DESC, source_object_name, target_object_name
""",
    Picture(),
    needs=_EDGES,
)

_SOURCES = Figure(
    "object_sources_of_columns",
    "Sources of its columns",
    "From which columns did its columns get their values?",
    """
SELECT column_name, coalesce(source_kind, 'no source') AS source_kind, source_object_name, source_column_name,
  count(DISTINCT query_id) AS statements, max(query_start_time) AS last_written
FROM account_usage.columns_written
WHERE query_date BETWEEN :from_day AND :to_day AND (object_name = :object_name OR object_id IN :object_ids)
GROUP BY ALL
ORDER BY column_name, source_kind DESC, source_object_name, source_column_name
""",
)

OBJECT = Kind(
    "object",
    "What happened to {name}",
    "All that is on record of one table, view or file in the period: who read it and how, who changed it,"
    " what it was made of and what was made of it. A rename does not break the report: it goes by the"
    " object's id, too.",
    (
        Section("Overview", "", (_SUMMARY, _NAMES, _READS_OVER_TIME, _COLUMNS, _BY_HOUR)),
        Section("Readers", "", (_READERS, _POLICIES, _STATEMENTS)),
        Section("Changes", "", (_CHANGES, _DEFINITIONS)),
        Section("Refused", "", (_REFUSED,)),
        Section("Lineage", "", (_FLOW, _SOURCES)),
    ),
    find_object,
)
