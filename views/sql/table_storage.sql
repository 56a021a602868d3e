-- How large is each table, as BigQuery shows it? One row for each Delta table, in the columns of BigQuery's
-- TABLE_STORAGE: a clone counts as if it were whole. Logical bytes are an estimate: rows by the width of their types,
-- since Delta's log does not know how long a value is.
-- Example:
--   SELECT table_schema, table_name, total_rows, active_physical_bytes, time_travel_physical_bytes
--   FROM account_usage.table_storage
--   ORDER BY total_physical_bytes DESC
CREATE OR REPLACE VIEW {schema}.table_storage (
  project_id COMMENT 'The catalog, as table_catalog',
  project_number COMMENT 'NULL: a catalog has none',
  table_catalog COMMENT 'The catalog',
  table_schema COMMENT 'The schema',
  table_name COMMENT 'The name',
  creation_time COMMENT 'When it was made (UTC)',
  total_rows COMMENT 'Rows; null where a file has no statistics',
  total_partitions COMMENT 'NULL: not measured',
  total_logical_bytes COMMENT 'Bytes without compression, an estimate',
  active_logical_bytes COMMENT 'Of these bytes: changed within 90 days',
  long_term_logical_bytes COMMENT 'Of these bytes: not changed for 90 days',
  current_physical_bytes COMMENT 'Bytes of the newest version',
  total_physical_bytes COMMENT 'Bytes of the newest version and Time Travel; without Fail-safe',
  active_physical_bytes COMMENT 'Of these bytes: of tables changed within 90 days, with Time Travel',
  long_term_physical_bytes COMMENT 'Of these bytes: of tables not changed for 90 days',
  time_travel_physical_bytes COMMENT 'Bytes replaced or dropped, within the window',
  storage_last_modified_time COMMENT 'Its newest version (UTC)',
  deleted COMMENT 'Whether it was dropped',
  table_type COMMENT 'BASE TABLE, TRANSIENT or CLONE',
  managed_table_type COMMENT 'NATIVE',
  fail_safe_physical_bytes COMMENT 'Bytes past the window, within Fail-safe',
  last_metadata_index_refresh_time COMMENT 'NULL: not of Spark',
  table_deletion_reason COMMENT 'NULL: ddl_history has the statement',
  table_deletion_time COMMENT 'When it was dropped (UTC); null for one that is there',
  billable_logical_bytes COMMENT 'Bytes paid for under the logical model: active and long-term alone',
  billable_physical_bytes COMMENT 'Bytes paid for under the physical model: Time Travel and Fail-safe as well',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Storage by table, physical and logical, for both billing models' AS
SELECT table_catalog AS project_id, CAST(NULL AS BIGINT) AS project_number, table_catalog, table_schema, table_name,
  created AS creation_time, row_count AS total_rows, CAST(NULL AS BIGINT) AS total_partitions,
  logical_bytes AS total_logical_bytes, if(is_long_term, 0, logical_bytes) AS active_logical_bytes,
  if(is_long_term, logical_bytes, 0) AS long_term_logical_bytes, current_bytes AS current_physical_bytes,
  current_bytes + time_travel_bytes AS total_physical_bytes,
  if(is_long_term, 0, current_bytes) + time_travel_bytes AS active_physical_bytes,
  if(is_long_term, current_bytes, 0) AS long_term_physical_bytes, time_travel_bytes AS time_travel_physical_bytes,
  last_altered AS storage_last_modified_time, deleted IS NOT NULL AS deleted, table_type,
  'NATIVE' AS managed_table_type, fail_safe_bytes AS fail_safe_physical_bytes,
  CAST(NULL AS TIMESTAMP) AS last_metadata_index_refresh_time, CAST(NULL AS STRING) AS table_deletion_reason,
  deleted AS table_deletion_time, if(deleted IS NULL, logical_bytes, 0) AS billable_logical_bytes,
  current_bytes + time_travel_bytes + fail_safe_bytes AS billable_physical_bytes, measured_at
FROM (SELECT *, if(deleted IS NULL, bytes, 0) AS current_bytes FROM {schema}.object_storage)
