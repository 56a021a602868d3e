-- What is asked again and again, and what does it cost? One row for each hour, kind of statement, user, role, schema
-- and tag: statements that differ in white space, comments and literals only are one kind (query_parameterized_hash). A
-- statement without such a hash, a DataFrame action, is of one kind with the others of its type. Of statements that
-- share a row (aggregated_tables) min and max know the mean alone. In Spark a WHERE on query_date leaves out the files
-- of other days; DuckDB leaves them out by interval_start_time, too.
-- Example:
--   SELECT query_text, sum(calls) AS calls, sum(total_elapsed_time.sum) AS milliseconds
--   FROM account_usage.aggregate_query_history
--   WHERE query_date >= current_date() - 7
--   GROUP BY query_text
--   ORDER BY milliseconds DESC
CREATE OR REPLACE VIEW {schema}.aggregate_query_history (
  calls COMMENT 'Statements in the hour',
  interval_start_time COMMENT 'When the hour begins (UTC)',
  interval_end_time COMMENT 'When it ends (UTC)',
  query_parameterized_hash COMMENT 'The same for texts that differ in white space, comments and literals; null for a DataFrame action',
  query_text COMMENT 'The text of one of them',
  database_id COMMENT 'NULL: schemas and catalogs are known by name',
  database_name COMMENT 'The current catalog',
  schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  schema_name COMMENT 'The current schema',
  query_type COMMENT 'SELECT, INSERT, MERGE, ...',
  session_id COMMENT 'NULL: the statements of all sessions are summed up',
  user_name COMMENT 'Who issued them',
  role_name COMMENT 'The role in force',
  role_type COMMENT 'NULL: roles are of the account',
  warehouse_id COMMENT 'NULL: there are no warehouses',
  warehouse_name COMMENT 'NULL: there are no warehouses',
  warehouse_size COMMENT 'NULL: there are no warehouses',
  warehouse_type COMMENT 'NULL: there are no warehouses',
  query_tag COMMENT 'audit.query_tag',
  is_client_generated_statement COMMENT 'NULL: not of Spark',
  release_version COMMENT 'NULL: not of Spark',
  errors COMMENT 'Their errors, each once: code and message, as in query_history',
  total_elapsed_time COMMENT 'Milliseconds, of each field: sum, avg, min and max',
  bytes_scanned COMMENT 'Bytes of the files read, where Spark knows them: sum, avg, min and max',
  percentage_scanned_from_cache COMMENT 'NULL: not measured',
  bytes_written COMMENT 'Bytes of the files written, where Spark knows them: sum, avg, min and max',
  bytes_written_to_result COMMENT 'NULL: not measured',
  bytes_read_from_result COMMENT 'NULL: not measured',
  rows_produced COMMENT 'Rows returned or written, where Spark knows them: sum, avg, min and max',
  rows_inserted COMMENT 'NULL: not measured',
  rows_updated COMMENT 'NULL: not measured',
  rows_deleted COMMENT 'NULL: not measured',
  rows_unloaded COMMENT 'NULL: not measured',
  bytes_deleted COMMENT 'NULL: not measured',
  partitions_scanned COMMENT 'NULL: not measured',
  partitions_total COMMENT 'NULL: not measured',
  bytes_spilled_to_local_storage COMMENT 'NULL: not measured',
  bytes_spilled_to_remote_storage COMMENT 'NULL: not measured',
  bytes_sent_over_the_network COMMENT 'NULL: not measured',
  compilation_time COMMENT 'NULL: not measured',
  execution_time COMMENT 'As total_elapsed_time, milliseconds: compilation and waiting are not measured by themselves',
  queued_provisioning_time COMMENT 'NULL: not measured',
  queued_repair_time COMMENT 'NULL: not measured',
  queued_overload_time COMMENT 'NULL: not measured',
  transaction_blocked_time COMMENT 'NULL: not measured',
  outbound_data_transfer_cloud COMMENT 'NULL: not measured',
  outbound_data_transfer_region COMMENT 'NULL: not measured',
  outbound_data_transfer_bytes COMMENT 'NULL: not measured',
  inbound_data_transfer_cloud COMMENT 'NULL: not measured',
  inbound_data_transfer_region COMMENT 'NULL: not measured',
  inbound_data_transfer_bytes COMMENT 'NULL: not measured',
  list_external_files_time COMMENT 'NULL: not measured',
  credits_used_cloud_services COMMENT 'NULL: there are no credits',
  external_function_total_invocations COMMENT 'NULL: not of Spark',
  external_function_total_sent_rows COMMENT 'NULL: not of Spark',
  external_function_total_received_rows COMMENT 'NULL: not of Spark',
  external_function_total_sent_bytes COMMENT 'NULL: not of Spark',
  external_function_total_received_bytes COMMENT 'NULL: not of Spark',
  query_load_percent COMMENT 'NULL: not measured',
  query_acceleration_bytes_scanned COMMENT 'NULL: not of Spark',
  query_acceleration_partitions_scanned COMMENT 'NULL: not of Spark',
  query_acceleration_upper_limit_scale_factor COMMENT 'NULL: not of Spark',
  child_queries_wait_time COMMENT 'NULL: not measured',
  hybrid_table_requests_throttled_count COMMENT 'NULL: not of Spark',
  failed COMMENT 'Statements that failed, were denied or are incomplete',
  denied COMMENT 'Of these: those that were denied',
  query_date COMMENT 'The day (UTC): the partition of query_history'
) COMMENT 'Statements by the hour: one row for each kind of statement, user, role, schema and tag' AS
SELECT CAST(sum(calls) AS BIGINT) AS calls, timestamp_micros(hour * 3600000000) AS interval_start_time,
  timestamp_micros((hour + 1) * 3600000000) AS interval_end_time, query_parameterized_hash,
  min(query_text) AS query_text, CAST(NULL AS BIGINT) AS database_id, database_name,
  CAST(NULL AS BIGINT) AS schema_id, schema_name, query_type, CAST(NULL AS STRING) AS session_id, user_name,
  role_name, CAST(NULL AS STRING) AS role_type, CAST(NULL AS BIGINT) AS warehouse_id,
  CAST(NULL AS STRING) AS warehouse_name, CAST(NULL AS STRING) AS warehouse_size,
  CAST(NULL AS STRING) AS warehouse_type, query_tag, CAST(NULL AS STRING) AS is_client_generated_statement,
  CAST(NULL AS STRING) AS release_version,
  sort_array(collect_set(named_struct('code', error_code, 'message', error_message)) FILTER (WHERE error_code IS NOT
    NULL)) AS errors,
  named_struct('sum', CAST(sum(total_elapsed_time) AS BIGINT), 'avg', CAST(sum(total_elapsed_time) AS DOUBLE) /
    sum(calls) FILTER (WHERE total_elapsed_time IS NOT NULL), 'min', min(total_elapsed_time DIV calls), 'max',
    max(total_elapsed_time DIV calls)) AS total_elapsed_time,
  named_struct('sum', CAST(sum(bytes_scanned) AS BIGINT), 'avg', CAST(sum(bytes_scanned) AS DOUBLE) / sum(calls)
    FILTER (WHERE bytes_scanned IS NOT NULL), 'min', min(bytes_scanned DIV calls), 'max', max(bytes_scanned DIV
    calls)) AS bytes_scanned,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS percentage_scanned_from_cache,
  named_struct('sum', CAST(sum(bytes_written) AS BIGINT), 'avg', CAST(sum(bytes_written) AS DOUBLE) / sum(calls)
    FILTER (WHERE bytes_written IS NOT NULL), 'min', min(bytes_written DIV calls), 'max', max(bytes_written DIV
    calls)) AS bytes_written,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_written_to_result,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_read_from_result,
  named_struct('sum', CAST(sum(rows_produced) AS BIGINT), 'avg', CAST(sum(rows_produced) AS DOUBLE) / sum(calls)
    FILTER (WHERE rows_produced IS NOT NULL), 'min', min(rows_produced DIV calls), 'max', max(rows_produced DIV
    calls)) AS rows_produced,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS rows_inserted,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS rows_updated,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS rows_deleted,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS rows_unloaded,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_deleted,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS partitions_scanned,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS partitions_total,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_spilled_to_local_storage,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_spilled_to_remote_storage,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS bytes_sent_over_the_network,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS compilation_time,
  named_struct('sum', CAST(sum(total_elapsed_time) AS BIGINT), 'avg', CAST(sum(total_elapsed_time) AS DOUBLE) /
    sum(calls) FILTER (WHERE total_elapsed_time IS NOT NULL), 'min', min(total_elapsed_time DIV calls), 'max',
    max(total_elapsed_time DIV calls)) AS execution_time,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS queued_provisioning_time,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS queued_repair_time,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS queued_overload_time,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS transaction_blocked_time,
  CAST(NULL AS STRING) AS outbound_data_transfer_cloud, CAST(NULL AS STRING) AS outbound_data_transfer_region,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS outbound_data_transfer_bytes,
  CAST(NULL AS STRING) AS inbound_data_transfer_cloud, CAST(NULL AS STRING) AS inbound_data_transfer_region,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS inbound_data_transfer_bytes,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS list_external_files_time,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS credits_used_cloud_services,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS external_function_total_invocations,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS external_function_total_sent_rows,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS external_function_total_received_rows,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS external_function_total_sent_bytes,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS external_function_total_received_bytes,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS query_load_percent,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS query_acceleration_bytes_scanned,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS query_acceleration_partitions_scanned,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS
    query_acceleration_upper_limit_scale_factor,
  CAST(NULL AS STRUCT<sum: BIGINT, avg: DOUBLE, min: BIGINT, max: BIGINT>) AS child_queries_wait_time,
  CAST(NULL AS BIGINT) AS hybrid_table_requests_throttled_count,
  count_if(execution_status IN ('FAIL', 'DENIED', 'INCOMPLETE')) AS failed,
  count_if(execution_status = 'DENIED') AS denied, query_date
FROM (SELECT * EXCEPT (calls), coalesce(calls, 1) AS calls, unix_micros(start_time) DIV 3600000000 AS hour
      FROM {schema}.query_history
      WHERE NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP')
GROUP BY hour, query_date, query_parameterized_hash, database_name, schema_name, query_type, user_name, role_name,
  query_tag
