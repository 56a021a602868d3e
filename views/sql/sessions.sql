-- Who worked, from where, and for how long? One row for each Spark session that was recorded. A WHERE on its time
-- leaves out rows, yet all days are read: a session may be open for many.
-- Example:
--   SELECT session_id, user_name, created_on, client_address, client_program, statements
--   FROM account_usage.sessions
--   ORDER BY created_on DESC
CREATE OR REPLACE VIEW {schema}.sessions (
  session_id COMMENT 'The Spark session',
  created_on COMMENT 'When it was attached (AUDIT_ATTACH), else when the first statement started (UTC)',
  user_name COMMENT 'Who attached it, else who issued the first statement',
  authentication_method COMMENT 'NULL: nobody logs in',
  login_event_id COMMENT 'NULL: nobody logs in',
  client_application_version COMMENT 'As client_version',
  client_application_id COMMENT 'As client_program',
  client_environment COMMENT 'NULL: not recorded',
  client_build_id COMMENT 'NULL: not recorded',
  client_version COMMENT 'Its Python and PySpark',
  access_time COMMENT 'As last_statement_on (UTC)',
  is_open COMMENT 'Whether it was not detached; also where its driver was killed',
  closed_reason COMMENT 'NULL: not recorded',
  application_id COMMENT 'The Spark application',
  users COMMENT 'How many users issued statements: audit.as_user lets several share a session',
  user_names COMMENT 'These users',
  is_attach_recorded COMMENT 'AUDIT_ATTACH is on record; otherwise created_on and user_name are those of the first statement',
  detached_on COMMENT 'When it was detached last (AUDIT_DETACH); null where it still is, or its driver was killed (UTC)',
  last_statement_on COMMENT 'When the last statement started (UTC); null for none',
  statements COMMENT 'Statements, without what happened to the logging',
  failed_statements COMMENT 'Of these: those that failed, were denied or are incomplete',
  client_address COMMENT 'The IP address of the machine that it came from',
  client_host COMMENT 'The name of that machine',
  client_program COMMENT 'The script, module or shell',
  os_user COMMENT 'The user of the operating system, whoever user_name is'
) COMMENT 'Sessions, with their first and last statement' AS
SELECT session_id,
  coalesce(min(created_on) FILTER (WHERE is_attach_recorded), min(created_on)) AS created_on,
  coalesce(min_by(user_name, created_on) FILTER (WHERE is_attach_recorded), min_by(user_name, created_on))
    AS user_name,
  CAST(NULL AS STRING) AS authentication_method, CAST(NULL AS BIGINT) AS login_event_id,
  max(client_version) AS client_application_version, max(client_program) AS client_application_id,
  CAST(NULL AS STRING) AS client_environment, CAST(NULL AS STRING) AS client_build_id,
  max(client_version) AS client_version, max(last_statement_on) AS access_time, max(detached_on) IS NULL AS is_open,
  CAST(NULL AS STRING) AS closed_reason, max(application_id) AS application_id,
  CAST(size(array_distinct(flatten(collect_list(user_names)))) AS BIGINT) AS users,
  sort_array(array_distinct(flatten(collect_list(user_names)))) AS user_names,
  bool_or(is_attach_recorded) AS is_attach_recorded, max(detached_on) AS detached_on,
  max(last_statement_on) AS last_statement_on, CAST(sum(statements) AS BIGINT) AS statements,
  CAST(sum(failed_statements) AS BIGINT) AS failed_statements, max(client_address) AS client_address,
  max(client_host) AS client_host, max(client_program) AS client_program, max(os_user) AS os_user
FROM (
  SELECT session_id, coalesce(attached_on, first_record_on) AS created_on,
    coalesce(attached_by, first_user) AS user_name, users AS user_names, attached_on IS NOT NULL AS is_attach_recorded,
    application_id, detached_on, last_statement_on, statements, failed_statements, client_address, client_host,
    client_program, client_version, os_user
  FROM {schema}.sessions_by_day
  WHERE {unfinished}
  -- <finished_sessions_of_all_days>
  UNION ALL
  SELECT session_id, created_on, user_name, user_names, is_attach_recorded, application_id, detached_on,
    last_statement_on, statements, failed_statements, client_address, client_host, client_program, client_version,
    os_user
  FROM {schema}.finished_sessions_of_all_days
  WHERE as_of = {newest}
  -- </finished_sessions_of_all_days>
)
GROUP BY session_id
