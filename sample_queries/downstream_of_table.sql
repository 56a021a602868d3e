-- Which tables and files hang on a table, directly or through others: what breaks when it changes?
-- Reads account_usage.columns_written.
-- :object_name = 'spark_catalog.raw.flights'   the full name of the table
-- :days = 365                                  how far back
-- :max_hops = 10                               where to stop
WITH RECURSIVE edge AS (
  SELECT source_object_name, object_name, array_join(sort_array(collect_set(column_name)), ', ') AS columns
  FROM account_usage.columns_written
  WHERE source_kind = 'base' AND object_name <> source_object_name
    AND query_start_time >= current_timestamp() - make_dt_interval(:days)
  GROUP BY source_object_name, object_name
), downstream (hop, object_name, comes_from, columns, path) AS (
  SELECT 1, object_name, source_object_name, columns, array(source_object_name, object_name)
  FROM edge WHERE source_object_name = :object_name
  UNION ALL
  SELECT d.hop + 1, e.object_name, e.source_object_name, e.columns, array_append(d.path, e.object_name)
  FROM downstream d JOIN edge e ON e.source_object_name = d.object_name
  WHERE d.hop < :max_hops AND NOT array_contains(d.path, e.object_name)
)
SELECT min(hop) AS hop, object_name, comes_from, columns
FROM downstream
GROUP BY object_name, comes_from, columns
ORDER BY hop, object_name, comes_from
