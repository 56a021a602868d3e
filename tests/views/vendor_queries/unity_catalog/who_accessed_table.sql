-- https://docs.databricks.com/en/admin/system-tables/audit-logs (Which users accessed a table within the last day?)
-- Changed: the dots of system.access.audit; the second way to name the table is left out; days are UTC, so that yesterday counts.
-- :full_name = 'main.raw.flights'   the table
SELECT user_identity.email AS `User`, ifnull(request_params.full_name_arg, request_params.name) AS `Table`,
  action_name AS `Type of Access`, event_time AS `Time of Access`
FROM account_usage.system_access_audit
WHERE request_params.full_name_arg = :full_name
  AND action_name IN ('createTable', 'getTable', 'deleteTable')
  AND event_date >= current_date() - 1
ORDER BY event_date DESC
