-- Was the recording on, and what was done to it? One row for each event of the logging itself: a session is recorded
-- from now on (AUDIT_ATTACH) or no longer (AUDIT_DETACH), with another configuration than before it (AUDIT_CONFIGURE),
-- a thread's recording pauses (AUDIT_SUPPRESS) and goes on (AUDIT_RESUME), days were deleted (AUDIT_RETAIN), records
-- were verified (AUDIT_VERIFY), checked (AUDIT_CHECK), read (AUDIT_QUERY, AUDIT_REPORT,
-- AUDIT_EXPORT) or taken in (AUDIT_INGEST), events of other systems were taken in (AUDIT_IMPORT), or records are lost
-- (GAP).
-- Example:
--   SELECT event_time, event_type, user_name, message
--   FROM account_usage.logging_history
--   WHERE query_date >= current_date() - 7 AND event_type IN ('GAP', 'AUDIT_DETACH', 'AUDIT_SUPPRESS', 'AUDIT_CONFIGURE', 'AUDIT_ATTACH')
--   ORDER BY event_time DESC
CREATE OR REPLACE VIEW {schema}.logging_history (
  event_id COMMENT 'As query_id in query_history',
  event_time COMMENT 'When it happened, or began (UTC)',
  query_date COMMENT 'The day (UTC): the partition of query_history',
  event_type COMMENT 'AUDIT_ATTACH, AUDIT_DETACH, AUDIT_CONFIGURE, AUDIT_SUPPRESS, AUDIT_RESUME, AUDIT_RETAIN, AUDIT_VERIFY, AUDIT_CHECK, AUDIT_QUERY, AUDIT_REPORT, AUDIT_EXPORT, AUDIT_IMPORT, AUDIT_INGEST or GAP',
  user_name COMMENT 'Who did it',
  os_user COMMENT 'The user of the operating system',
  duration COMMENT 'Milliseconds: how long recording had paused, a command ran, or a gap was open',
  action COMMENT 'The call or the command',
  details COMMENT 'JSON: the configuration of an attach, what changed of it, what was deleted, found or asked',
  message COMMENT 'Of a gap: what is lost, and why',
  client_address COMMENT 'The IP address of the machine',
  client_host COMMENT 'The name of the machine',
  client_program COMMENT 'The script, module or shell',
  session_id COMMENT 'The Spark session; null for a command',
  application_id COMMENT 'The Spark application; null for a command'
) COMMENT 'The logging itself: one row for each start, pause, end, deletion, verification and gap' AS
SELECT query_id, start_time, query_date, query_type, user_name, os_user, total_elapsed_time, action, query_text,
  error_message, client_address, client_host, client_program, session_id, application_id
FROM {schema}.query_history
WHERE startswith(query_type, 'AUDIT_') OR query_type = 'GAP'
