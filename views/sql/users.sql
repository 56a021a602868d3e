-- Which users are known? One row for each who was granted a role or a privilege, or who issued a statement; nobody
-- creates or drops a user here.
-- Example:
--   SELECT name, created_on, last_statement_on
--   FROM account_usage.users
--   ORDER BY last_statement_on DESC
CREATE OR REPLACE VIEW {schema}.users (
  user_id COMMENT 'NULL: users have no other identifier',
  name COMMENT 'As user_name in query_history',
  created_on COMMENT 'When the user was first granted something, or first issued a statement (UTC)',
  deleted_on COMMENT 'NULL: nobody drops a user here',
  login_name COMMENT 'NULL: the identity provider has it',
  display_name COMMENT 'NULL: the identity provider has it',
  first_name COMMENT 'NULL: the identity provider has it',
  last_name COMMENT 'NULL: the identity provider has it',
  email COMMENT 'NULL: the identity provider has it',
  must_change_password COMMENT 'NULL: the identity provider has it',
  has_password COMMENT 'NULL: the identity provider has it',
  comment COMMENT 'NULL: the identity provider has it',
  disabled COMMENT 'NULL: the identity provider has it',
  snowflake_lock COMMENT 'NULL: not of Spark',
  default_warehouse COMMENT 'NULL: not of Spark',
  default_namespace COMMENT 'NULL: not of Spark',
  default_role COMMENT 'NULL: not of Spark',
  ext_authn_duo COMMENT 'NULL: not of Spark',
  ext_authn_uid COMMENT 'NULL: not of Spark',
  has_mfa COMMENT 'NULL: the identity provider has it',
  bypass_mfa_until COMMENT 'NULL: the identity provider has it',
  last_success_login COMMENT 'NULL: nobody logs in; last_statement_on tells of work',
  expires_at COMMENT 'NULL: the identity provider has it',
  locked_until_time COMMENT 'NULL: the identity provider has it',
  has_rsa_public_key COMMENT 'NULL: the identity provider has it',
  password_last_set_time COMMENT 'NULL: the identity provider has it',
  owner COMMENT 'NULL: users have no owner',
  default_secondary_role COMMENT 'NULL: not of Spark',
  has_pat COMMENT 'NULL: the identity provider has it',
  has_workload_identity COMMENT 'NULL: the identity provider has it',
  type COMMENT 'NULL: the identity provider has it',
  database_name COMMENT 'NULL: users are of the account',
  database_id COMMENT 'NULL: users are of the account',
  schema_name COMMENT 'NULL: users are of the account',
  schema_id COMMENT 'NULL: users are of the account',
  is_from_organization_user COMMENT 'NULL: not of Spark',
  last_statement_on COMMENT 'When the user issued the last statement (UTC); null for none on record'
) COMMENT 'Users who were granted something or issued a statement' AS
SELECT CAST(NULL AS BIGINT) AS user_id, name, min(seen_on) AS created_on, CAST(NULL AS TIMESTAMP) AS deleted_on,
  CAST(NULL AS STRING) AS login_name, CAST(NULL AS STRING) AS display_name, CAST(NULL AS STRING) AS first_name,
  CAST(NULL AS STRING) AS last_name, CAST(NULL AS STRING) AS email, CAST(NULL AS STRING) AS must_change_password,
  CAST(NULL AS STRING) AS has_password, CAST(NULL AS STRING) AS comment, CAST(NULL AS STRING) AS disabled,
  CAST(NULL AS STRING) AS snowflake_lock, CAST(NULL AS STRING) AS default_warehouse,
  CAST(NULL AS STRING) AS default_namespace, CAST(NULL AS STRING) AS default_role,
  CAST(NULL AS STRING) AS ext_authn_duo, CAST(NULL AS STRING) AS ext_authn_uid, CAST(NULL AS STRING) AS has_mfa,
  CAST(NULL AS TIMESTAMP) AS bypass_mfa_until, CAST(NULL AS TIMESTAMP) AS last_success_login,
  CAST(NULL AS TIMESTAMP) AS expires_at, CAST(NULL AS TIMESTAMP) AS locked_until_time,
  CAST(NULL AS STRING) AS has_rsa_public_key, CAST(NULL AS TIMESTAMP) AS password_last_set_time,
  CAST(NULL AS STRING) AS owner, CAST(NULL AS STRING) AS default_secondary_role, CAST(NULL AS STRING) AS has_pat,
  CAST(NULL AS STRING) AS has_workload_identity, CAST(NULL AS STRING) AS type,
  CAST(NULL AS STRING) AS database_name, CAST(NULL AS BIGINT) AS database_id, CAST(NULL AS STRING) AS schema_name,
  CAST(NULL AS BIGINT) AS schema_id, CAST(NULL AS STRING) AS is_from_organization_user,
  max(statement_on) AS last_statement_on
FROM (
  SELECT privilege.grantee_name AS name, created_on AS seen_on, CAST(NULL AS TIMESTAMP) AS statement_on
  FROM {schema}.object_governance
  WHERE kind = 'PRIVILEGE' AND privilege.granted_to = 'USER'
  UNION ALL
  SELECT user_name, first_statement_on, last_statement_on
  FROM {schema}.users_by_day
)
GROUP BY name
