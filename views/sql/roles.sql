-- Which roles are there, and which were there? One row for each, dropped ones included: at the time t was there what
-- has created_on <= t AND (deleted_on IS NULL OR deleted_on > t). ACCOUNTADMIN and PUBLIC, which nobody creates, are
-- there since 1970.
-- Example:
--   SELECT name, owner, created_on
--   FROM account_usage.roles
--   WHERE deleted_on IS NULL
--   ORDER BY name
CREATE OR REPLACE VIEW {schema}.roles (
  role_id COMMENT 'As objectId in access_history; the same for a later role of that name',
  created_on COMMENT 'When it was created (UTC)',
  deleted_on COMMENT 'When it was dropped (UTC); null for one that is there',
  name COMMENT 'Name of the role, in upper case',
  comment COMMENT 'Of the role',
  owner COMMENT 'Who created it; null for the two that nobody creates',
  role_type COMMENT 'ROLE',
  role_database_name COMMENT 'NULL: roles are of the account',
  role_instance_id COMMENT 'NULL: not of Spark',
  owner_role_type COMMENT 'USER: what owner is',
  is_from_organization_user_group COMMENT 'NULL: not of Spark'
) COMMENT 'Roles, dropped ones included' AS
SELECT role.role_id, created_on, deleted_on, role.name, role.comment, role.owner, 'ROLE' AS role_type,
  CAST(NULL AS STRING) AS role_database_name, CAST(NULL AS BIGINT) AS role_instance_id, role.owner_role_type,
  CAST(NULL AS STRING) AS is_from_organization_user_group
FROM {schema}.object_governance
WHERE kind = 'ROLE'
