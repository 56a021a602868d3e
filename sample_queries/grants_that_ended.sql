-- Which privileges and roles were taken away lately, and for how long had they been held?
-- Reads account_usage.grants_to_roles and account_usage.grants_to_users.
-- Theme: privileges
-- :days = 30   how far back
SELECT deleted_on, privilege, granted_on, object_name, granted_to, grantee_name, grant_option, granted_by, created_on,
  (unix_micros(deleted_on) - unix_micros(created_on)) DIV 86400000000 AS days_held
FROM (
  SELECT deleted_on, privilege, granted_on, concat_ws('.', table_catalog, table_schema, name) AS object_name,
    granted_to, grantee_name, grant_option, granted_by, created_on
  FROM account_usage.grants_to_roles
  UNION ALL
  SELECT deleted_on, 'USAGE', 'ROLE', role, granted_to, grantee_name, FALSE, granted_by, created_on
  FROM account_usage.grants_to_users
)
WHERE deleted_on >= current_timestamp() - make_dt_interval(:days)
ORDER BY deleted_on DESC, object_name, privilege, grantee_name
