-- Which role has, or had, which user? One row for each time from GRANT ROLE to REVOKE: at the time t the user had what
-- has created_on <= t AND (deleted_on IS NULL OR deleted_on > t). Roles below these are in grants_to_roles.
-- Example:
--   SELECT grantee_name, role, granted_by, created_on
--   FROM account_usage.grants_to_users
--   WHERE deleted_on IS NULL
--   ORDER BY grantee_name, role
CREATE OR REPLACE VIEW {schema}.grants_to_users (
  created_on COMMENT 'When the role was granted (UTC)',
  deleted_on COMMENT 'When it was revoked or dropped (UTC); null where it still is held',
  role COMMENT 'The role, in upper case',
  granted_to COMMENT 'USER',
  grantee_name COMMENT 'As user_name in query_history',
  granted_by COMMENT 'In whose name it was granted'
) COMMENT 'Roles of users, former ones included' AS
SELECT created_on, deleted_on, privilege.name AS role, privilege.granted_to, privilege.grantee_name,
  privilege.granted_by
FROM {schema}.object_governance
WHERE kind = 'PRIVILEGE' AND privilege.granted_on = 'ROLE' AND privilege.granted_to = 'USER'
