-- What are the bytes of each table kept for? One row for each Delta table that takes room: what its bytes are kept for.
-- A file that a clone shares counts for the table in whose folder it lies.
-- Example:
--   SELECT table_schema, table_name, active_bytes, time_travel_bytes, failsafe_bytes
--   FROM account_usage.table_storage_metrics
--   ORDER BY active_bytes DESC
CREATE OR REPLACE VIEW {schema}.table_storage_metrics (
  id COMMENT 'As objectId in access_history; survives a rename',
  table_name COMMENT 'The name',
  table_schema COMMENT 'The schema',
  table_catalog COMMENT 'The catalog',
  clone_group_id COMMENT 'Of the oldest table that it was cloned from; its own id where it is no clone',
  is_transient COMMENT 'YES: kept for a day at most, and without Fail-safe',
  active_bytes COMMENT 'Bytes of the newest version',
  time_travel_bytes COMMENT 'Bytes replaced or dropped, and within retention',
  failsafe_bytes COMMENT 'Bytes past retention, and within Fail-safe',
  retained_for_clone_bytes COMMENT 'Bytes past both, and a clone needs them',
  purgeable_bytes COMMENT 'Bytes past both, and nothing needs them: audit purge frees them',
  deleted COMMENT 'Whether it was dropped',
  table_created COMMENT 'When it was made (UTC)',
  table_dropped COMMENT 'When it was dropped (UTC)',
  table_entered_failsafe COMMENT 'When what was dropped left Time Travel (UTC)',
  schema_dropped COMMENT 'When its schema was dropped with it (UTC)',
  comment COMMENT 'Of the table',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Storage by table: active, Time Travel, Fail-safe, retained for clones' AS
SELECT table_id AS id, table_name, table_schema, table_catalog, clone_group_id,
  if(is_transient, 'YES', 'NO') AS is_transient, active_bytes, time_travel_bytes,
  fail_safe_bytes AS failsafe_bytes, retained_for_clone_bytes, purgeable_bytes,
  deleted IS NOT NULL AS deleted, created AS table_created, deleted AS table_dropped,
  entered_fail_safe AS table_entered_failsafe, if(schema_dropped, deleted, NULL) AS schema_dropped, comment,
  measured_at
FROM {schema}.object_storage
