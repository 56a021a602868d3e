-- What is backed up, by which policy? One row for each backup set, dropped ones included.
-- Example:
--   SELECT name, object_schema, object_name, backup_policy_name, is_creation_suspended
--   FROM account_usage.backup_sets
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.backup_sets (
  id COMMENT 'Identifier of the backup set; survives a rename',
  name COMMENT 'Name of the backup set',
  schema_name COMMENT 'The schema of the backup set',
  catalog_name COMMENT 'The catalog of the backup set',
  object_kind COMMENT 'TABLE or SCHEMA: of what its backups are',
  object_name COMMENT 'The table or schema that is backed up',
  object_schema COMMENT 'The schema of that table, or the schema itself',
  object_catalog COMMENT 'The catalog of that table or schema',
  backup_policy_id COMMENT 'Identifier of its policy; null for none',
  backup_policy_name COMMENT 'Name of its policy; null for none',
  backup_policy_schema COMMENT 'The schema of its policy; null for none',
  backup_policy_catalog COMMENT 'The catalog of its policy; null for none',
  is_creation_suspended COMMENT 'Y: no backups are made by the schedule. Else N',
  is_expiration_suspended COMMENT 'Y: backups that have expired are kept. Else N',
  owner COMMENT 'Who created it',
  created COMMENT 'When it was created (UTC)',
  last_altered COMMENT 'When a statement or its policy changed it last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the backup set'
) COMMENT 'Backup sets, dropped ones included' AS
SELECT backup_set.id, backup_set.name, backup_set.schema_name, backup_set.catalog_name, backup_set.object_kind,
  backup_set.object_name, backup_set.object_schema, backup_set.object_catalog,
  backup_set.policy_id AS backup_policy_id, backup_set.policy_name AS backup_policy_name,
  backup_set.policy_schema AS backup_policy_schema, backup_set.policy_catalog AS backup_policy_catalog,
  if(backup_set.is_creation_suspended, 'Y', 'N') AS is_creation_suspended,
  if(backup_set.is_expiration_suspended, 'Y', 'N') AS is_expiration_suspended, backup_set.owner, created,
  last_altered, deleted, backup_set.comment
FROM {schema}.object_backups WHERE kind = 'SET'
