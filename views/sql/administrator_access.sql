-- What was done in the role of the administrators? One row for each statement whose role in use is ACCOUNTADMIN. Who
-- has the role by the configuration `admins` and names none when he works has no row: the sample query
-- administrators_at_work has him.
-- Example:
--   SELECT query_start_time, user_name, purpose, query_text
--   FROM account_usage.administrator_access
--   WHERE query_date >= current_date() - 7
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.administrator_access (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of query_history',
  user_name COMMENT 'Who issued it',
  role_name COMMENT 'ACCOUNTADMIN',
  query_type COMMENT 'SELECT, GRANT, CREATE_TABLE, ...',
  execution_status COMMENT 'SUCCESS, FAIL, DENIED, RUNNING or INCOMPLETE (after a crash)',
  objects_tried COMMENT 'The objects that the statement names',
  rows_produced COMMENT 'Rows returned or written, where Spark knows them',
  purpose COMMENT 'What it was done for: audit.purpose',
  client_address COMMENT 'The IP address of the machine that it came from',
  client_program COMMENT 'The script, module or shell that issued it',
  os_user COMMENT 'The user of the operating system, whoever user_name is',
  query_text COMMENT 'The statement'
) COMMENT 'Statements in the role ACCOUNTADMIN' AS
SELECT query_id, start_time, query_date, user_name, role_name, query_type, execution_status, objects_tried,
  rows_produced, purpose, client_address, client_program, os_user, query_text
FROM {schema}.query_history
WHERE role_name = 'ACCOUNTADMIN' AND NOT startswith(query_type, 'AUDIT_')
