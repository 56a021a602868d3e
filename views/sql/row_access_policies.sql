-- Which row access policies are there, which were there, and what do they say? One row for each, dropped ones included:
-- at the time t was there what has created <= t AND (deleted IS NULL OR deleted > t). The body is the last one.
-- Example:
--   SELECT policy_name, policy_signature, policy_body, policy_owner
--   FROM account_usage.row_access_policies
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.row_access_policies (
  policy_name COMMENT 'Name of the row access policy',
  policy_id COMMENT 'As policyId in access_history; survives a rename',
  policy_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  policy_schema COMMENT 'The schema',
  policy_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  policy_catalog COMMENT 'The catalog',
  policy_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who created it',
  policy_signature COMMENT 'Its parameters with their types: (VAL STRING)',
  policy_return_type COMMENT 'The type that it returns',
  policy_body COMMENT 'What it says: an expression of SQL',
  policy_comment COMMENT 'Of the policy',
  created COMMENT 'When it was created (UTC)',
  last_altered COMMENT 'When it or its owner was changed last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  owner_role_type COMMENT 'ROLE or USER: what policy_owner is',
  options COMMENT 'NULL: a policy has none',
  policy_version COMMENT 'How often its body was set, from 1',
  is_function COMMENT 'It stands for the SQL function of its name, as SET MASK and SET ROW FILTER take one'
) COMMENT 'Row access policies, dropped ones included' AS
SELECT policy.policy_name, policy.policy_id, CAST(NULL AS BIGINT) AS policy_schema_id, policy.policy_schema,
  CAST(NULL AS BIGINT) AS policy_catalog_id, policy.policy_catalog, policy.policy_owner, policy.policy_signature,
  policy.policy_return_type, policy.policy_body, policy.policy_comment, created_on AS created, policy.last_altered,
  deleted_on AS deleted, policy.owner_role_type, CAST(NULL AS STRING) AS options, policy.policy_version,
  policy.is_function
FROM {schema}.object_governance
WHERE kind = 'POLICY' AND policy.policy_kind = 'ROW_ACCESS_POLICY'
