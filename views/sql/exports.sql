-- What left the tables? One row for each statement and location outside of tables that it wrote: UNLOAD, COPY INTO a
-- location, a writer with a path.
-- Example:
--   SELECT query_start_time, user_name, location, sources, rows_produced
--   FROM account_usage.exports
--   WHERE query_date >= current_date() - 7
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.exports (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  role_name COMMENT 'The role in force',
  query_type COMMENT 'UNLOAD, COPY, ...',
  location COMMENT 'Where it wrote',
  stage_kind COMMENT 'What kind of stage the location is',
  sources COMMENT 'The tables whose data it wrote; empty for values of its own',
  columns COMMENT 'The columns that it wrote',
  rows_produced COMMENT 'Rows written, where Spark knows them',
  bytes_written COMMENT 'Bytes of the files written, where Spark knows them',
  purpose COMMENT 'What it was done for: audit.purpose',
  client_address COMMENT 'The IP address of the machine that it came from',
  client_program COMMENT 'The script, module or shell that issued it',
  query_text COMMENT 'The statement'
) COMMENT 'Exports: one row for each statement and location that it wrote' AS
SELECT a.query_id, a.query_start_time, a.query_date, a.user_name, q.role_name, q.query_type, a.location, a.stage_kind,
  a.sources, a.columns, q.rows_produced, q.bytes_written, q.purpose, q.client_address, q.client_program, q.query_text
FROM (
  SELECT query_id, query_start_time, query_date, user_name, coalesce(o.location, o.objectName) AS location,
    o.stageKind AS stage_kind, transform(coalesce(base_objects_accessed, array()), b -> b.objectName) AS sources,
    transform(coalesce(o.columns, array()), c -> c.columnName) AS columns
  FROM {schema}.access_history
  LATERAL VIEW explode(objects_modified) AS o
  WHERE o.objectDomain = 'STAGE'
) a
LEFT JOIN {schema}.query_history q
  ON q.query_id = a.query_id AND q.start_time = a.query_start_time AND q.query_date = a.query_date
