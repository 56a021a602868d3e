-- Which columns were made of a column, directly or through others?
-- Reads account_usage.column_lineage. Filters and keys that gave no value are left out.
-- Theme: lineage
-- :object_name = 'spark_catalog.raw.flights'   the full name of the table
-- :column_name = 'arr_delay'                   the column
-- :days = 365                                  how far back
-- :max_hops = 10                               where to stop
WITH RECURSIVE edge AS (
  SELECT DISTINCT source_object_name, source_column_name, target_object_name, target_column_name, transformation
  FROM account_usage.column_lineage
  WHERE source_kind = 'direct' AND NOT is_indirect AND target_column_name IS NOT NULL
    AND query_start_time >= current_timestamp() - make_dt_interval(:days)
    AND NOT (source_object_name = target_object_name AND source_column_name = target_column_name)
), downstream (hop, object_name, column_name, from_object, from_column, transformation, path) AS (
  SELECT 1, target_object_name, target_column_name, source_object_name, source_column_name, transformation,
    array(concat(target_object_name, '.', target_column_name))
  FROM edge WHERE source_object_name = :object_name AND source_column_name = :column_name
  UNION ALL
  SELECT d.hop + 1, e.target_object_name, e.target_column_name, e.source_object_name, e.source_column_name,
    e.transformation, array_append(d.path, concat(e.target_object_name, '.', e.target_column_name))
  FROM downstream d
  JOIN edge e ON e.source_object_name = d.object_name AND e.source_column_name = d.column_name
  WHERE d.hop < :max_hops AND NOT array_contains(d.path, concat(e.target_object_name, '.', e.target_column_name))
)
SELECT min(hop) AS hop, object_name, column_name, from_object, from_column, transformation
FROM downstream
GROUP BY object_name, column_name, from_object, from_column, transformation
ORDER BY hop, object_name, column_name, from_object, from_column, transformation
