-- What did administrators do, in the role ACCOUNTADMIN or by the configuration `admins` without naming a role?
-- Reads account_usage.statements and account_usage.logging_history, whose details hold the configuration.
-- Theme: refusals and administrators
-- :days = 30   how far back
WITH configured AS (
  SELECT DISTINCT application_id, trim(admin) AS user_name
  FROM account_usage.logging_history
  LATERAL VIEW explode(split(get_json_object(details, '$.admins'), ',')) AS admin
  WHERE event_type = 'AUDIT_ATTACH'
)
SELECT s.user_name, if(s.role_name = 'ACCOUNTADMIN', 'role in use', 'configured') AS how, s.query_type,
  s.execution_status, CAST(sum(s.calls) AS BIGINT) AS statements, max(s.start_time) AS last_statement
FROM account_usage.statements s
LEFT JOIN configured c ON c.application_id = s.application_id AND c.user_name = s.user_name
WHERE s.start_time >= current_timestamp() - make_dt_interval(:days) AND s.query_type <> 'GAP'
  AND (s.role_name = 'ACCOUNTADMIN' OR (s.role_name IS NULL AND c.user_name IS NOT NULL))
GROUP BY s.user_name, s.role_name, s.query_type, s.execution_status
ORDER BY s.user_name, how, statements DESC, s.query_type, s.execution_status
