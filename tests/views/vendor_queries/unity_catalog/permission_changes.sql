-- https://docs.databricks.com/en/admin/system-tables/audit-logs (View permissions changes for all securable objects)
-- Changed: the dots of system.access.audit.
SELECT event_time, user_identity.email, request_params.securable_type, request_params.securable_full_name,
  request_params.changes
FROM account_usage.system_access_audit
WHERE service_name = 'unityCatalog' AND action_name = 'updatePermissions'
ORDER BY 1 DESC
