-- How was each column of a table made: copied, computed or aggregated, of what, and by whom?
-- Reads account_usage.column_lineage.
-- Theme: lineage
-- :object_name = 'spark_catalog.mart.carrier_delay'   the full name of the table
-- :days = 365                                         how far back
SELECT target_column_name, transformation,
  array_join(sort_array(collect_set(concat(source_object_name, '.', source_column_name))), ', ') AS sources,
  array_join(sort_array(collect_set(user_name)), ', ') AS users, count(DISTINCT query_id) AS statements,
  max(query_start_time) AS last_written
FROM account_usage.column_lineage
WHERE target_object_name = :object_name AND source_kind = 'base' AND NOT is_indirect
  AND target_column_name IS NOT NULL AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY target_column_name, transformation
ORDER BY target_column_name, transformation
