-- Who worked on a day, and from where? One row for each day (UTC) and Spark session that was recorded.
-- Example:
--   SELECT query_date, first_user, client_host, client_program, statements
--   FROM account_usage.sessions_by_day
--   WHERE query_date >= current_date() - 7
--   ORDER BY first_record_on DESC
CREATE OR REPLACE VIEW {schema}.sessions_by_day (
  query_date COMMENT 'The day (UTC): the partition of query_history',
  session_id COMMENT 'The Spark session',
  application_id COMMENT 'The Spark application',
  users COMMENT 'Who issued statements: audit.as_user lets several share a session',
  attached_by COMMENT 'Who attached it on this day; null where that was on another day, or is not on record',
  attached_on COMMENT 'When (AUDIT_ATTACH, UTC)',
  detached_on COMMENT 'When it was detached last on this day (AUDIT_DETACH, UTC)',
  first_user COMMENT 'Who issued the first statement, or what happened first to the logging',
  first_record_on COMMENT 'When that started (UTC)',
  last_statement_on COMMENT 'When the last statement started (UTC); null for none',
  statements COMMENT 'Statements, without what happened to the logging',
  failed_statements COMMENT 'Of these: those that failed, were denied or are incomplete',
  client_address COMMENT 'The IP address of the machine that it came from',
  client_host COMMENT 'The name of that machine',
  client_program COMMENT 'The script, module or shell',
  client_version COMMENT 'Its Python and PySpark',
  os_user COMMENT 'The user of the operating system, whoever user_name is'
) COMMENT 'Sessions: one row for each day and session' AS
SELECT query_date, session_id, max(application_id) AS application_id,
  sort_array(collect_set(user_name) FILTER (WHERE NOT is_event)) AS users,
  min_by(user_name, start_time) FILTER (WHERE query_type = 'AUDIT_ATTACH') AS attached_by,
  min(start_time) FILTER (WHERE query_type = 'AUDIT_ATTACH') AS attached_on,
  max(start_time) FILTER (WHERE query_type = 'AUDIT_DETACH') AS detached_on,
  min_by(user_name, start_time) AS first_user,
  min(start_time) AS first_record_on,
  max(start_time) FILTER (WHERE NOT is_event) AS last_statement_on,
  CAST(sum(if(is_event, 0, coalesce(calls, 1))) AS BIGINT) AS statements,
  count_if(NOT is_event AND execution_status IN ('FAIL', 'DENIED', 'INCOMPLETE')) AS failed_statements,
  max(client_address) AS client_address, max(client_host) AS client_host, max(client_program) AS client_program,
  max(client_version) AS client_version, max(os_user) AS os_user
FROM (
  SELECT *, startswith(coalesce(query_type, ''), 'AUDIT_') AS is_event
  FROM {schema}.query_history
  WHERE session_id IS NOT NULL AND coalesce(query_type, '') <> 'GAP' AND {unfinished}
)
GROUP BY query_date, session_id
-- <finished_sessions>
UNION ALL
SELECT query_date, session_id, application_id, users, attached_by, attached_on, detached_on, first_user,
  first_record_on, last_statement_on, statements, failed_statements, client_address, client_host, client_program,
  client_version, os_user
FROM {schema}.finished_sessions
WHERE query_date <= {newest} AND statements IS NOT NULL
-- </finished_sessions>
