-- Which Delta tables are there, and how large are they? One row for each Delta table: those that are there and those
-- that were dropped and are not purged yet.
-- Example:
--   SELECT table_schema, table_name, row_count, bytes, retention_time
--   FROM account_usage.tables
--   WHERE deleted IS NULL
--   ORDER BY bytes DESC
CREATE OR REPLACE VIEW {schema}.tables (
  table_id COMMENT 'As objectId in access_history; survives a rename',
  table_name COMMENT 'The name',
  table_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_schema COMMENT 'The schema',
  table_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_catalog COMMENT 'The catalog',
  table_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  table_type COMMENT 'BASE TABLE, TRANSIENT or CLONE',
  is_transient COMMENT 'YES: kept for a day at most, and without Fail-safe',
  clustering_key COMMENT 'NULL: not measured',
  row_count COMMENT 'Rows; null where a file has no statistics',
  bytes COMMENT 'Bytes that a scan of it opens',
  retention_time COMMENT 'The retention period in force, days',
  self_referencing_column_name COMMENT 'NULL: not of Spark',
  reference_generation COMMENT 'NULL: not of Spark',
  user_defined_type_catalog COMMENT 'NULL: not of Spark',
  user_defined_type_schema COMMENT 'NULL: not of Spark',
  user_defined_type_name COMMENT 'NULL: not of Spark',
  is_insertable_into COMMENT 'YES',
  is_typed COMMENT 'NO',
  commit_action COMMENT 'NULL: not of Spark',
  created COMMENT 'When it was made (UTC)',
  last_altered COMMENT 'Its newest version (UTC)',
  last_ddl COMMENT 'NULL: ddl_history has it',
  last_ddl_by COMMENT 'NULL: ddl_history has it',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  auto_clustering_on COMMENT 'NO: nothing is clustered by itself',
  comment COMMENT 'Of the table',
  owner_role_type COMMENT 'NULL: not measured',
  instance_id COMMENT 'NULL: not of Spark',
  is_iceberg COMMENT 'NO: it is a Delta table',
  is_dynamic COMMENT 'NO',
  is_hybrid COMMENT 'NO',
  archive_storage_cool_row_count COMMENT 'NULL: there is no archive',
  archive_storage_cool_bytes COMMENT 'NULL: there is no archive',
  archive_storage_cold_row_count COMMENT 'NULL: there is no archive',
  archive_storage_cold_bytes COMMENT 'NULL: there is no archive',
  location COMMENT 'Where its files lie',
  delta_version COMMENT 'The newest version',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Tables, dropped ones included' AS
SELECT table_id, table_name, CAST(NULL AS BIGINT) AS table_schema_id, table_schema,
  CAST(NULL AS BIGINT) AS table_catalog_id, table_catalog, table_owner, table_type,
  if(is_transient, 'YES', 'NO') AS is_transient, CAST(NULL AS STRING) AS clustering_key, row_count, bytes,
  retention_time, CAST(NULL AS STRING) AS self_referencing_column_name,
  CAST(NULL AS STRING) AS reference_generation, CAST(NULL AS STRING) AS user_defined_type_catalog,
  CAST(NULL AS STRING) AS user_defined_type_schema, CAST(NULL AS STRING) AS user_defined_type_name,
  'YES' AS is_insertable_into, 'NO' AS is_typed, CAST(NULL AS STRING) AS commit_action, created, last_altered,
  CAST(NULL AS TIMESTAMP) AS last_ddl, CAST(NULL AS STRING) AS last_ddl_by, deleted, 'NO' AS auto_clustering_on,
  comment, CAST(NULL AS STRING) AS owner_role_type, CAST(NULL AS BIGINT) AS instance_id, 'NO' AS is_iceberg,
  'NO' AS is_dynamic, 'NO' AS is_hybrid, CAST(NULL AS BIGINT) AS archive_storage_cool_row_count,
  CAST(NULL AS BIGINT) AS archive_storage_cool_bytes, CAST(NULL AS BIGINT) AS archive_storage_cold_row_count,
  CAST(NULL AS BIGINT) AS archive_storage_cold_bytes, location, delta_version, measured_at
FROM {schema}.object_storage
