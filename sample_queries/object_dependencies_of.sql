-- Which views hang on a table or view, directly or through other views: what breaks when it goes?
-- Reads account_usage.object_dependencies, which is as an attached session has measured it last.
-- Theme: lineage
-- :object_name = 'spark_catalog.raw.flights'   the full name of the table or view
-- :max_hops = 10                               where to stop
WITH RECURSIVE edge AS (
  SELECT concat_ws('.', referenced_database, referenced_schema, referenced_object_name) AS source,
    concat_ws('.', referencing_database, referencing_schema, referencing_object_name) AS target
  FROM account_usage.object_dependencies
), dependent (hop, object_name, reads, path) AS (
  SELECT 1, target, source, array(source, target) FROM edge WHERE lower(source) = lower(:object_name)
  UNION ALL
  SELECT d.hop + 1, e.target, e.source, array_append(d.path, e.target)
  FROM dependent d JOIN edge e ON lower(e.source) = lower(d.object_name)
  WHERE d.hop < :max_hops AND NOT array_contains(d.path, e.target)
)
SELECT min(hop) AS hop, object_name, reads
FROM dependent
GROUP BY object_name, reads
ORDER BY hop, object_name, reads
