-- Which tables and files hang on a table, directly or through others: what is touched when it changes?
-- Reads account_usage.access_history: whatever a statement read, its result hangs on, filters and joins too.
-- Theme: lineage
-- :object_name = 'spark_catalog.raw.flights'   the full name of the table
-- :days = 365                                  how far back
-- :max_hops = 10                               where to stop
WITH RECURSIVE edge AS (
  SELECT r.objectName AS source, w.objectName AS target, max(query_start_time) AS last_written
  FROM account_usage.access_history
  LATERAL VIEW explode(base_objects_accessed) AS r
  LATERAL VIEW explode(objects_modified) AS w
  WHERE r.objectName <> w.objectName AND query_start_time >= current_timestamp() - make_dt_interval(:days)
  GROUP BY r.objectName, w.objectName
), downstream (hop, object_name, comes_from, last_written, path) AS (
  SELECT 1, target, source, last_written, array(source, target) FROM edge WHERE source = :object_name
  UNION ALL
  SELECT d.hop + 1, e.target, e.source, e.last_written, array_append(d.path, e.target)
  FROM downstream d JOIN edge e ON e.source = d.object_name
  WHERE d.hop < :max_hops AND NOT array_contains(d.path, e.target)
)
SELECT min(hop) AS hop, object_name, comes_from, max(last_written) AS last_written
FROM downstream
GROUP BY object_name, comes_from
ORDER BY hop, object_name, comes_from
