-- What are the bytes of each table kept for? One row for each Delta table that takes room: what its bytes are kept for.
-- A file that a clone shares counts for the table in whose folder it lies.
-- Example:
--   SELECT table_schema, table_name, active_bytes, time_travel_bytes, failsafe_bytes
--   FROM account_usage.table_storage_metrics
--   ORDER BY active_bytes DESC
CREATE OR REPLACE VIEW {schema}.table_storage_metrics (
  id COMMENT 'As objectId in access_history; survives a rename',
  table_name COMMENT 'The name',
  table_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_schema COMMENT 'The schema',
  table_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_catalog COMMENT 'The catalog',
  clone_group_id COMMENT 'Of the oldest table that it was cloned from; its own id where it is no clone',
  is_transient COMMENT 'YES: kept for a day at most, and without Fail-safe',
  active_bytes COMMENT 'Bytes of the newest version',
  time_travel_bytes COMMENT 'Bytes replaced or dropped, and within retention',
  failsafe_bytes COMMENT 'Bytes past retention, and within Fail-safe',
  retained_for_clone_bytes COMMENT 'Bytes past both, and a clone needs them',
  deleted COMMENT 'Whether it was dropped',
  table_created COMMENT 'When it was made (UTC)',
  table_dropped COMMENT 'When it was dropped (UTC)',
  table_entered_failsafe COMMENT 'When what was dropped left Time Travel (UTC)',
  schema_created COMMENT 'NULL: schemata has it',
  schema_dropped COMMENT 'When its schema was dropped with it (UTC)',
  catalog_created COMMENT 'NULL: catalogs are not measured',
  catalog_dropped COMMENT 'NULL: catalogs are not measured',
  comment COMMENT 'Of the table',
  instance_id COMMENT 'NULL: not of Spark',
  archive_storage_cool_active_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cold_active_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cool_time_travel_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cold_time_travel_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cool_failsafe_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cold_failsafe_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cool_early_deletion_penalty_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cold_early_deletion_penalty_bytes COMMENT 'NULL: there is no archive',
  purgeable_bytes COMMENT 'Bytes past both, and nothing needs them: audit purge frees them',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Storage by table: active, Time Travel, Fail-safe, retained for clones' AS
SELECT table_id AS id, table_name, CAST(NULL AS BIGINT) AS table_schema_id, table_schema,
  CAST(NULL AS BIGINT) AS table_catalog_id, table_catalog, clone_group_id,
  if(is_transient, 'YES', 'NO') AS is_transient, active_bytes, time_travel_bytes, fail_safe_bytes AS failsafe_bytes,
  retained_for_clone_bytes, deleted IS NOT NULL AS deleted, created AS table_created, deleted AS table_dropped,
  entered_fail_safe AS table_entered_failsafe, CAST(NULL AS TIMESTAMP) AS schema_created,
  if(schema_dropped, deleted, NULL) AS schema_dropped, CAST(NULL AS TIMESTAMP) AS catalog_created,
  CAST(NULL AS TIMESTAMP) AS catalog_dropped, comment, CAST(NULL AS BIGINT) AS instance_id,
  CAST(NULL AS BIGINT) AS archive_storage_cool_active_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cold_active_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cool_time_travel_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cold_time_travel_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cool_failsafe_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cold_failsafe_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cool_early_deletion_penalty_bytes,
  CAST(NULL AS BIGINT) AS archive_storage_cold_early_deletion_penalty_bytes, purgeable_bytes, measured_at
FROM {schema}.object_storage
