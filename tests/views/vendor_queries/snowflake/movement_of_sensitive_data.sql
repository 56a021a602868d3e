-- https://docs.snowflake.com/en/user-guide/access-history (Tracking sensitive stage data movement)
-- Changed: the schema; LATERAL FLATTEN is LATERAL VIEW explode, array_agg is collect_set and sorted, WITH is WITH
-- RECURSIVE, the name is a parameter and of any domain, 30 days are counted from now. A table that a statement
-- reads and writes is left out: it would follow itself for ever.
-- :object_name = 'spark_catalog.raw.flights'   where the data comes from
WITH RECURSIVE access_history_flatten AS (
  SELECT r.objectId AS source_id, r.objectName AS source_name, r.objectDomain AS source_domain,
    w.objectId AS target_id, w.objectName AS target_name, w.objectDomain AS target_domain,
    c.columnName AS target_column, query_start_time
  FROM account_usage.access_history
  LATERAL VIEW explode(base_objects_accessed) AS r
  LATERAL VIEW explode(objects_modified) AS w
  LATERAL VIEW OUTER explode(w.columns) AS c
  WHERE r.objectId <> w.objectId
), sensitive_data_movements (path, target_id, target_name, target_domain, target_column, query_start_time) AS (
  SELECT f.source_name || '-->' || f.target_name, f.target_id, f.target_name, f.target_domain, f.target_column,
    f.query_start_time
  FROM access_history_flatten f
  WHERE f.source_name = :object_name AND f.query_start_time >= dateadd(DAY, -30, current_timestamp())
  UNION ALL
  SELECT m.path || '-->' || f.target_name, f.target_id, f.target_name, f.target_domain, f.target_column,
    f.query_start_time
  FROM access_history_flatten f
  JOIN sensitive_data_movements m
    ON f.source_id = m.target_id AND f.source_domain = m.target_domain AND f.query_start_time >= m.query_start_time
)
SELECT path, target_name, target_id, target_domain, sort_array(collect_set(target_column)) AS target_columns
FROM sensitive_data_movements
GROUP BY path, target_id, target_name, target_domain
