-- Where does a column come from, hop by hop, back to the files it was loaded from?
-- Reads account_usage.columns_written. Hops go over base sources, since views are written by nobody.
-- Theme: lineage
-- :object_name = 'spark_catalog.mart.carrier_delay'   the full name of the table
-- :column_name = 'avg_delay'                          the column
-- :days = 365                                         how far back
-- :max_hops = 10                                      where to stop
WITH RECURSIVE edge AS (
  SELECT DISTINCT object_name, column_name, source_object_name, source_column_name, source_object_domain
  FROM account_usage.columns_written
  WHERE source_kind = 'base' AND query_start_time >= current_timestamp() - make_dt_interval(:days)
    AND NOT (object_name = source_object_name AND column_name = source_column_name)
    AND NOT source_object_domain <=> 'FUNCTION'
), upstream (hop, object_name, column_name, source_object_name, source_column_name, source_domain, path) AS (
  SELECT 1, object_name, column_name, source_object_name, source_column_name, source_object_domain,
    array(concat(object_name, '.', column_name))
  FROM edge WHERE object_name = :object_name AND column_name = :column_name
  UNION ALL
  SELECT u.hop + 1, e.object_name, e.column_name, e.source_object_name, e.source_column_name,
    e.source_object_domain, array_append(u.path, concat(e.object_name, '.', e.column_name))
  FROM upstream u
  JOIN edge e ON e.object_name = u.source_object_name AND e.column_name = u.source_column_name
  WHERE u.hop < :max_hops AND NOT array_contains(u.path, concat(e.source_object_name, '.', e.source_column_name))
)
SELECT min(hop) AS hop, object_name, column_name, source_object_name, source_column_name, source_domain
FROM upstream
GROUP BY object_name, column_name, source_object_name, source_column_name, source_domain
ORDER BY hop, object_name, column_name, source_object_name, source_column_name
