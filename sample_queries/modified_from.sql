-- What was modified from what: each column that was written, what the statement took it from (direct), and
-- the columns of tables below (base)? A function that made it is named, too.
-- Reads account_usage.columns_written.
-- Theme: changes
-- :object_name = 'spark_catalog.mart.carrier_delay'   the full name of the table that was written
-- :days = 30                                          how far back
SELECT column_name,
  array_join(sort_array(collect_set(concat_ws('.', source_object_name, source_column_name))
    FILTER (WHERE source_kind = 'direct')), ', ') AS direct_sources,
  array_join(sort_array(collect_set(concat_ws('.', source_object_name, source_column_name))
    FILTER (WHERE source_kind = 'base')), ', ') AS base_sources,
  count(DISTINCT query_id) AS statements, max(query_start_time) AS last_written
FROM account_usage.columns_written
WHERE object_name = :object_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY column_name
ORDER BY column_name
