"""The report `changes`: who changed data and definitions, and what came of it.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.statements import SAMPLE
from audit.report.model import Bars, Days, Figure, Kind, Section

_OVER_TIME = Figure(
    "changes_over_time",
    "Changes over time",
    "How many statements wrote, changed or deleted data or changed a definition, and when?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day,
  CASE WHEN query_type IN ('DELETE', 'TRUNCATE') OR startswith(query_type, 'DROP') THEN 'deleted'
    WHEN query_type IN ('UPDATE', 'MERGE') THEN 'changed'
    WHEN writes_data THEN 'written' ELSE 'definition' END AS what,
  count(*) AS statements
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND (writes_data OR is_ddl)
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Days("day", "statements", "what"),
)

_MOST = Figure(
    "most_changed",
    "What is changed most",
    "Into which 20 tables and files did most statements write?",
    """
SELECT o.objectName AS object_name, count(DISTINCT query_id) AS statements
FROM account_usage.access_history
LATERAL VIEW explode(objects_modified) AS o
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY 1
ORDER BY statements DESC, object_name
LIMIT 20
""",
    Bars("object_name", "statements"),
)

_WHO = Figure(
    "who_changed_what",
    "Who changed what",
    "Which user wrote into which table or file, by which kinds of statements, and how many rows?",
    """
SELECT a.user_name, o.objectName AS object_name,
  array_join(sort_array(collect_set(q.query_type)), ', ') AS query_types,
  count(DISTINCT a.query_id) AS statements, sum(q.rows_produced) AS rows,
  min(a.query_start_time) AS first_change, max(a.query_start_time) AS last_change
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
LATERAL VIEW explode(a.objects_modified) AS o
WHERE a.query_date BETWEEN :from_day AND :to_day
GROUP BY 1, 2
ORDER BY statements DESC, user_name, object_name
""",
)

_DATA = Figure(
    "data_changes",
    "Changes of data",
    "Which statement wrote into which table or file, which Delta version came of it, and what was it for?",
    """
SELECT a.query_start_time, a.user_name, q.query_type, o.objectName AS object_name,
  get(filter(a.object_versions, v -> v.objectName = o.objectName AND v.access = 'write'), 0).version
    AS version,
  q.rows_produced AS rows, q.purpose, q.query_text
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
LATERAL VIEW explode(a.objects_modified) AS o
WHERE a.query_date BETWEEN :from_day AND :to_day
ORDER BY a.query_start_time DESC, object_name, a.query_id
""",
)

DEFINITIONS = Figure(
    "definition_changes",
    "Changes of definitions",
    "What was created, altered, replaced, dropped or brought back, by whom?",
    """
SELECT query_start_time, user_name, operation_type, object_domain, object_name,
  get_json_object(properties, '$.objectName.value') AS new_name, query_text
FROM account_usage.ddl_history
WHERE query_date BETWEEN :from_day AND :to_day
ORDER BY query_start_time DESC, object_name, query_id
""",
)

_DELETED = Figure(
    "deletions",
    "What was deleted",
    "Which statements deleted rows, tables or the past of a table?",
    """
SELECT start_time, user_name, query_type, array_join(objects_tried, ', ') AS objects, rows_produced AS rows,
  execution_status, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day
  AND (query_type IN ('DELETE', 'TRUNCATE', 'VACUUM') OR startswith(query_type, 'DROP'))
ORDER BY start_time DESC, query_id
""",
)

_BROUGHT_BACK = Figure(
    "brought_back",
    "What was brought back",
    "Which statements restored a version, undropped an object, or cloned one?",
    """
SELECT start_time, user_name, query_type, array_join(objects_tried, ', ') AS objects,
  execution_status, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day
  AND (startswith(query_type, 'UNDROP') OR startswith(query_type, 'RESTORE') OR query_type LIKE '%CLONE%')
ORDER BY start_time DESC, query_id
""",
)

_REFUSED = Figure(
    "changes_refused",
    "Changes that failed or were denied",
    "Which changes failed or were denied?",
    """
SELECT start_time, user_name, role_name, query_type, execution_status, error_code,
  array_join(objects_tried, ', ') AS objects_tried, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status IN ('FAIL', 'DENIED')
  AND query_type <> 'SELECT'
ORDER BY start_time DESC, query_id
""",
)

CHANGES = Kind(
    "changes",
    "Who changed what",
    "Each statement that changed data or a definition in the period: who issued it, what it changed, how"
    " many rows, and the version that came of it.",
    (
        Section("Overview", "", (_OVER_TIME, _MOST, _WHO)),
        Section(
            "Data",
            "The version is what `VERSION AS OF` wants; what was before is read with"
            " `BEFORE (STATEMENT => …)`.",
            (_DATA, _DELETED, _BROUGHT_BACK),
        ),
        Section("Definitions", "", (DEFINITIONS,)),
        Section("Refused", "", (_REFUSED,)),
        Section("Sample", "", (SAMPLE,)),
    ),
)
