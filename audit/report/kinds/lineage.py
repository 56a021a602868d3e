"""The report `lineage`: what was made of what.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.access import EXPORTS
from audit.report.model import Figure, Kind, Picture, Section

_EDGES = "table_lineage"

_FLOW = Figure(
    "flow",
    "The flow of data",
    "From which tables, views and files did statements write into which?",
    """
SELECT source_object_id, source_object_name, source_object_domain,
  target_object_id, target_object_name, target_object_domain,
  bool_and(is_indirect) AS is_indirect, count(DISTINCT query_id) AS statements,
  min(query_start_time) AS first_written, max(query_start_time) AS last_written,
  sort_array(collect_set(user_name)) AS users
FROM account_usage.table_lineage
WHERE query_date BETWEEN :from_day AND :to_day AND source_kind = 'direct'
  AND source_object_id <> target_object_id
GROUP BY 1, 2, 3, 4, 5, 6
ORDER BY statements DESC, source_object_name, target_object_name
""",
    Picture(),
    needs=_EDGES,
)

_TABLES = Figure(
    "sources_of_tables",
    "Sources of tables",
    "What was each table, view and file made of, by how many statements, and who ran the last one?",
    """
SELECT target_object_name, source_object_name, source_object_domain,
  CASE WHEN bool_and(source_kind = 'base') THEN 'below a view' ELSE 'named' END AS how,
  count(DISTINCT query_id) AS statements, max_by(user_name, query_start_time) AS last_user,
  max(query_start_time) AS last_written
FROM account_usage.table_lineage
WHERE query_date BETWEEN :from_day AND :to_day AND source_object_id IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
""",
    needs=_EDGES,
)

_COLUMNS = Figure(
    "sources_of_columns",
    "Sources of columns",
    "Which column got its values from which, and how were they made?",
    """
SELECT target_object_name, coalesce(target_column_name, 'all columns') AS target_column_name,
  source_object_name, source_column_name,
  array_join(sort_array(collect_set(transformation)), ', ') AS transformations,
  count(DISTINCT query_id) AS statements, max(query_start_time) AS last_written
FROM account_usage.column_lineage
WHERE query_date BETWEEN :from_day AND :to_day AND source_kind = 'direct' AND NOT is_indirect
GROUP BY 1, 2, 3, 4
ORDER BY 1, 2, 3, 4
""",
    needs="column_lineage",
)

_LOADED = Figure(
    "loaded_from_files",
    "Loaded from files",
    "Which tables were loaded from files, and by whom?",
    """
SELECT target_object_name, source_object_name, user_name, count(DISTINCT query_id) AS statements,
  min(query_start_time) AS first_written, max(query_start_time) AS last_written
FROM account_usage.table_lineage
WHERE query_date BETWEEN :from_day AND :to_day AND source_object_domain = 'STAGE'
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
""",
    needs=_EDGES,
)

LINEAGE = Kind(
    "lineage",
    "What was made of what",
    "Where the data of each table, view and file came from in the period, and where data came in and went"
    " out.",
    (
        Section(
            "The flow",
            "An arrow points from what was read to what was written; it is dashed where the source only"
            " filters, joins or sorts.",
            (_FLOW, _TABLES),
        ),
        Section(
            "Columns",
            "A source gave values. Columns that only a filter, a join or a sort compared are left out.",
            (_COLUMNS,),
        ),
        Section("In and out", "", (_LOADED, EXPORTS)),
    ),
)
