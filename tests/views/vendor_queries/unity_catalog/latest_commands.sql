-- https://docs.databricks.com/en/admin/system-tables/audit-logs (View the most recently run notebook commands)
-- Changed: the dots of system.access.audit; runCommand of a notebook is commandSubmit.
SELECT event_time, user_identity.email, request_params.commandText
FROM account_usage.system_access_audit
WHERE action_name = 'commandSubmit'
ORDER BY event_time DESC
LIMIT 100
