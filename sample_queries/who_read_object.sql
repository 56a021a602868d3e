-- Who read an object, by name, by path or through a view, and how often?
-- Reads account_usage.columns_read.
-- Theme: reads
-- :object_name = 'spark_catalog.raw.planes'   the full name of a table, view or location
-- :days = 30                                  how far back
SELECT user_name, count(DISTINCT query_id) AS queries,
  count(DISTINCT query_id) FILTER (WHERE NOT is_direct) AS through_views,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE object_name = :object_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY user_name
ORDER BY queries DESC, user_name
