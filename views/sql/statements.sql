-- What ran, who ran it, and how well is its lineage known? One row for each statement: query_history beside what the
-- analysis made of it. The flags are null for statements that have no row in access_history: those that did not
-- succeed, were denied, or still run. What has happened to the logging itself is no statement: logging_history has it.
-- Example:
--   SELECT user_name, analysis, count(*) AS statements
--   FROM account_usage.statements
--   WHERE query_date >= current_date() - 7
--   GROUP BY user_name, analysis
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.statements (
  query_id COMMENT 'Identifier of the statement',
  start_time COMMENT 'When the statement started (UTC, microseconds)',
  query_date COMMENT 'The day (UTC): the partition of query_history',
  user_name COMMENT 'Who issued the statement',
  end_time COMMENT 'When it ended (UTC); null while it runs or after a crash',
  total_elapsed_time COMMENT 'Milliseconds between the two',
  query_text COMMENT 'The SQL text, or the DataFrame action with its plan',
  query_type COMMENT 'SELECT, INSERT, MERGE, CREATE_TABLE, ...; GAP: what is not on record; AUDIT_…: of the logging',
  role_name COMMENT 'The role in force',
  database_name COMMENT 'The current catalog',
  schema_name COMMENT 'The current schema',
  execution_status COMMENT 'SUCCESS, FAIL, DENIED, RUNNING or INCOMPLETE (after a crash)',
  error_code COMMENT 'The error class of Spark, or the type of the exception',
  error_message COMMENT 'The message of the error',
  rows_produced COMMENT 'Rows returned or written, where Spark knows them',
  bytes_scanned COMMENT 'Bytes of the files read, where Spark knows them',
  bytes_written COMMENT 'Bytes of the files written, where Spark knows them',
  query_hash COMMENT 'The same for texts that differ in white space, comments and case only',
  query_parameterized_hash COMMENT 'The same for texts that differ in literals, too',
  parent_query_id COMMENT 'The statement, script or procedure that ran this one',
  root_query_id COMMENT 'The topmost of the chain of parents',
  objects_tried COMMENT 'The objects that the statement names',
  action COMMENT 'The Python call that ran it',
  session_id COMMENT 'The Spark session',
  application_id COMMENT 'The Spark application',
  query_tag COMMENT 'What the session or the program calls this work: audit.query_tag',
  purpose COMMENT 'What it is done for: audit.purpose',
  client_address COMMENT 'The IP address of the machine that it came from',
  client_host COMMENT 'The name of that machine',
  client_program COMMENT 'The script, module or shell that issued it',
  client_version COMMENT 'Its Python and PySpark',
  os_user COMMENT 'The user of the operating system, whoever user_name is',
  calls COMMENT 'Statements that the row stands for, by aggregated_tables; otherwise 1',
  captured_by COMMENT 'What recorded it: text, plan or listener; null without a row in access_history',
  analysis COMMENT 'full, partial or opaque: how much of its lineage is known; null without a row in access_history',
  analysis_reason COMMENT 'Why it is not full',
  reads_data COMMENT 'It read an object; null without a row in access_history',
  writes_data COMMENT 'It wrote an object; null without a row in access_history',
  is_ddl COMMENT 'It created, altered or dropped an object; null without a row in access_history'
) COMMENT 'Statements: query_history with how each was analysed' AS
SELECT q.query_id, q.start_time, q.query_date, q.user_name, q.end_time, q.total_elapsed_time, q.query_text,
  q.query_type, q.role_name, q.database_name, q.schema_name, q.execution_status, q.error_code, q.error_message,
  q.rows_produced, q.bytes_scanned, q.bytes_written, q.query_hash, q.query_parameterized_hash,
  q.parent_query_id, q.root_query_id, q.objects_tried, q.action, q.session_id, q.application_id, q.query_tag,
  q.purpose, q.client_address, q.client_host, q.client_program, q.client_version, q.os_user,
  coalesce(q.calls, 1) AS calls, a.captured_by, a.analysis, a.analysis_reason, a.reads_data, a.writes_data, a.is_ddl
FROM {schema}.query_history q
LEFT JOIN (
  SELECT query_id, query_start_time, query_date, captured_by, analysis, analysis_reason,
    coalesce(size(base_objects_accessed), 0) > 0 AS reads_data,
    coalesce(size(objects_modified), 0) > 0 AS writes_data,
    object_modified_by_ddl IS NOT NULL AS is_ddl
  FROM {schema}.access_history
) a ON a.query_id = q.query_id AND a.query_start_time = q.start_time AND a.query_date = q.query_date
WHERE NOT startswith(q.query_type, 'AUDIT_')
