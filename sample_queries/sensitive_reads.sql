-- Which sensitive columns were read, by whom, how often? `*` names all columns of a table.
-- Reads account_usage.columns_read.
-- :columns = 'spark_catalog.raw.planes.tailnum, spark_catalog.raw.airports.*'   full names, by commas
-- :days = 30                                                                    how far back
WITH sensitive AS (
  SELECT regexp_extract(trim(name), '^(.*)[.]([^.]+)$', 1) AS object_name,
    regexp_extract(trim(name), '^(.*)[.]([^.]+)$', 2) AS column_name
  FROM (SELECT explode(split(:columns, ',')) AS name)
)
SELECT r.object_name, r.column_name, r.user_name, count(DISTINCT r.query_id) AS queries,
  max(r.query_start_time) AS last_read
FROM account_usage.columns_read r
JOIN sensitive s ON r.object_name = s.object_name AND s.column_name IN ('*', r.column_name)
WHERE r.column_name IS NOT NULL
  AND r.query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY r.object_name, r.column_name, r.user_name
ORDER BY r.object_name, r.column_name, r.user_name
