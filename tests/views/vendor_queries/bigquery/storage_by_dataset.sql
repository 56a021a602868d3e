-- https://cloud.google.com/bigquery/docs/information-schema-table-storage (Examples: bytes by dataset)
-- Changed: the name of the view.
SELECT table_schema AS dataset_name,
  sum(total_logical_bytes) / power(1024, 3) AS total_logical_gib,
  sum(active_logical_bytes) / power(1024, 3) AS active_logical_gib,
  sum(long_term_logical_bytes) / power(1024, 3) AS long_term_logical_gib,
  sum(total_physical_bytes) / power(1024, 3) AS total_physical_gib,
  sum(active_physical_bytes) / power(1024, 3) AS active_physical_gib,
  sum(active_physical_bytes - time_travel_physical_bytes) / power(1024, 3) AS active_no_tt_physical_gib,
  sum(long_term_physical_bytes) / power(1024, 3) AS long_term_physical_gib,
  sum(time_travel_physical_bytes) / power(1024, 3) AS time_travel_physical_gib,
  sum(fail_safe_physical_bytes) / power(1024, 3) AS fail_safe_physical_gib
FROM account_usage.table_storage
WHERE table_type = 'BASE TABLE'
GROUP BY table_schema
ORDER BY dataset_name
