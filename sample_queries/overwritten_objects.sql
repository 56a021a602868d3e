-- Which tables and views were replaced, so that nothing of what was in them stayed, by whom and out of what?
-- Reads account_usage.table_lineage.
-- Theme: changes
-- :days = 30   how far back
SELECT query_start_time, user_name, query_type, target_object_domain, target_object_name,
  array_join(sort_array(collect_set(source_object_name)), ', ') AS sources
FROM account_usage.table_lineage
WHERE overwrites AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY query_id, query_start_time, user_name, query_type, target_object_domain, target_object_name
ORDER BY query_start_time DESC, target_object_name
