-- Which policy is, or was, on which table, view or column? One row for each time that a policy was on one: at the time
-- t was in force what has created_on <= t AND (deleted_on IS NULL OR deleted_on > t). Names are the last ones known.
-- What is on a dropped table stays, since UNDROP brings the table back with it.
-- Example:
--   SELECT ref_schema_name, ref_entity_name, ref_column_name, policy_kind, policy_name
--   FROM account_usage.policy_references
--   WHERE deleted_on IS NULL
CREATE OR REPLACE VIEW {schema}.policy_references (
  policy_db COMMENT 'The catalog of the policy',
  policy_schema COMMENT 'Its schema',
  policy_id COMMENT 'As policyId in access_history; survives a rename',
  policy_name COMMENT 'Its name',
  policy_kind COMMENT 'MASKING_POLICY or ROW_ACCESS_POLICY',
  ref_database_name COMMENT 'The catalog of what it is on',
  ref_schema_name COMMENT 'The schema; null where it is on a schema',
  ref_entity_name COMMENT 'The table, view or schema, by its name as of the last change of its policies or tags',
  ref_entity_domain COMMENT 'TABLE, VIEW or SCHEMA',
  ref_column_name COMMENT 'The masked column; null for a row access policy, and for a tag that masks by type',
  ref_arg_column_names COMMENT 'The columns that stand for its parameters, the masked one first',
  tag_database COMMENT 'The catalog of the tag that brings it; null where it is set directly',
  tag_schema COMMENT 'The schema of that tag',
  tag_name COMMENT 'That tag',
  policy_status COMMENT 'ACTIVE; null for one that is there no longer',
  ref_entity_id COMMENT 'As objectId in access_history; survives a rename',
  created_on COMMENT 'Since when it is there (UTC)',
  deleted_on COMMENT 'Until when it was there (UTC); null where it still is'
) COMMENT 'Policies on objects and columns, former ones included' AS
SELECT policy_use.policy_db, policy_use.policy_schema, policy_use.policy_id, policy_use.policy_name,
  policy_use.policy_kind, policy_use.ref_database_name, policy_use.ref_schema_name, policy_use.ref_entity_name,
  policy_use.ref_entity_domain, policy_use.ref_column_name, policy_use.ref_arg_column_names,
  policy_use.tag_database, policy_use.tag_schema, policy_use.tag_name, if(deleted_on IS NULL, 'ACTIVE', NULL) AS policy_status,
  policy_use.ref_entity_id, created_on, deleted_on
FROM {schema}.object_governance
WHERE kind = 'POLICY_USE'
