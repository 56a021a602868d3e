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
  table_schema COMMENT 'The schema',
  table_catalog COMMENT 'The catalog',
  table_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  table_type COMMENT 'BASE TABLE, TRANSIENT or CLONE',
  is_transient COMMENT 'YES: kept for a day at most, and without Fail-safe',
  row_count COMMENT 'Rows; null where a file has no statistics',
  bytes COMMENT 'Bytes that a scan of it opens',
  retention_time COMMENT 'The retention period in force, days',
  created COMMENT 'When it was made (UTC)',
  last_altered COMMENT 'Its newest version (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the table',
  location COMMENT 'Where its files lie',
  delta_version COMMENT 'The newest version',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Tables, dropped ones included' AS
SELECT table_id, table_name, table_schema, table_catalog, table_owner, table_type,
  if(is_transient, 'YES', 'NO') AS is_transient, row_count, bytes, retention_time, created, last_altered,
  deleted, comment, location, delta_version, measured_at
FROM {schema}.object_storage
