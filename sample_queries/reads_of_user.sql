-- What did a user read, by name or through a view, and which columns of it?
-- Reads account_usage.columns_read.
-- Theme: reads
-- :user_name = 'bob'   as in query_history
-- :days = 30           how far back
SELECT object_domain, object_name, count(DISTINCT query_id) AS queries,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  if(bool_or(is_direct), 'by name', 'through a view') AS how, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE user_name = :user_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY object_domain, object_name
ORDER BY queries DESC, object_name
