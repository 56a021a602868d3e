-- Which privilege on which object has, or had, which role or user? One row for each time that it was held by the same
-- grant: at the time t was held what has created_on <= t AND (deleted_on IS NULL OR deleted_on > t). Another grantor or
-- grant option begins another row. A role that a role holds is USAGE on it; a role that a user holds is in
-- grants_to_users. Who created an object owns it without a row, unless privileges are enforced or it is a backup policy
-- or a backup set: ddl_history tells.
-- Example:
--   SELECT granted_to, grantee_name, privilege, granted_on, table_schema, name
--   FROM account_usage.grants_to_roles
--   WHERE deleted_on IS NULL
--   ORDER BY grantee_name, name
CREATE OR REPLACE VIEW {schema}.grants_to_roles (
  created_on COMMENT 'Since when it is held so (UTC)',
  modified_on COMMENT 'NULL: a grant that is changed begins another row',
  privilege COMMENT 'The privilege; OWNERSHIP of the owner',
  granted_on COMMENT 'TABLE, VIEW, SCHEMA, ACCOUNT, ROLE, TAG, FUNCTION, MASKING POLICY, BACKUP SET, ...',
  name COMMENT 'Of the object, as of the last GRANT on it; null for the account',
  table_catalog COMMENT 'Its catalog; null for a role and the account',
  table_schema COMMENT 'Its schema; null for what lies in none',
  granted_to COMMENT 'ROLE or USER',
  grantee_name COMMENT 'Who holds it',
  grant_option COMMENT 'Whether it may be granted on',
  granted_by COMMENT 'In whose name it was granted',
  deleted_on COMMENT 'Until when it was held so (UTC); null where it still is',
  granted_by_role_type COMMENT 'ROLE or USER: what granted_by is',
  object_instance COMMENT 'NULL: not of Spark',
  object_id COMMENT 'As objectId in access_history; survives a rename'
) COMMENT 'Privileges of roles and users, former ones included' AS
SELECT created_on, CAST(NULL AS TIMESTAMP) AS modified_on, privilege.privilege, privilege.granted_on,
  privilege.name, privilege.table_catalog, privilege.table_schema, privilege.granted_to, privilege.grantee_name,
  privilege.grant_option, privilege.granted_by, deleted_on, privilege.granted_by_role_type,
  CAST(NULL AS STRING) AS object_instance, privilege.object_id
FROM {schema}.object_governance
WHERE kind = 'PRIVILEGE'
  AND NOT (privilege.granted_on = 'ROLE' AND privilege.granted_to = 'USER')
