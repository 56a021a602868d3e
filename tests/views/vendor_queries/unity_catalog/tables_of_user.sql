-- https://docs.databricks.com/en/admin/system-tables/audit-logs (Which tables did a user access?)
-- Changed: the dots of system.access.audit; days are UTC, so that yesterday counts.
-- :user = 'bob'   the user
SELECT action_name AS `EVENT`, event_time AS `WHEN`,
  ifnull(request_params.full_name_arg, 'Non-specific') AS `TABLE ACCESSED`,
  ifnull(request_params.commandText, 'GET table') AS `QUERY TEXT`
FROM account_usage.system_access_audit
WHERE user_identity.email = :user
  AND action_name IN ('createTable', 'commandSubmit', 'getTable', 'deleteTable')
  AND datediff(now(), event_date) <= 1
ORDER BY event_date DESC
