-- What is backed up, by which policy? One row for each backup set, dropped ones included.
-- Example:
--   SELECT name, object_schema_name, object_name, backup_policy_name, is_creation_suspended
--   FROM account_usage.backup_sets
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.backup_sets (
  id COMMENT 'Identifier of the backup set; survives a rename',
  name COMMENT 'Name of the backup set',
  schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  schema_name COMMENT 'The schema of the backup set',
  catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  catalog_name COMMENT 'The catalog of the backup set',
  object_kind COMMENT 'TABLE or SCHEMA: of what its backups are',
  object_id COMMENT 'NULL: object_name tells it',
  object_name COMMENT 'The table or schema that is backed up',
  object_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  object_schema_name COMMENT 'The schema of that table, or the schema itself',
  object_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  object_catalog_name COMMENT 'The catalog of that table or schema',
  backup_policy_id COMMENT 'Identifier of its policy; null for none',
  backup_policy_name COMMENT 'Name of its policy; null for none',
  backup_policy_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  backup_policy_schema_name COMMENT 'The schema of its policy; null for none',
  backup_policy_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  backup_policy_catalog_name COMMENT 'The catalog of its policy; null for none',
  owner COMMENT 'Who created it',
  owner_role_type COMMENT 'NULL: not measured',
  created COMMENT 'When it was created (UTC)',
  last_altered COMMENT 'When a statement or its policy changed it last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the backup set',
  is_creation_suspended COMMENT 'Y: no backups are made by the schedule. Else N',
  is_expiration_suspended COMMENT 'Y: backups that have expired are kept. Else N'
) COMMENT 'Backup sets, dropped ones included' AS
SELECT backup_set.id, backup_set.name, CAST(NULL AS BIGINT) AS schema_id, backup_set.schema_name,
  CAST(NULL AS BIGINT) AS catalog_id, backup_set.catalog_name, backup_set.object_kind,
  CAST(NULL AS BIGINT) AS object_id, backup_set.object_name, CAST(NULL AS BIGINT) AS object_schema_id,
  backup_set.object_schema AS object_schema_name, CAST(NULL AS BIGINT) AS object_catalog_id,
  backup_set.object_catalog AS object_catalog_name, backup_set.policy_id AS backup_policy_id,
  backup_set.policy_name AS backup_policy_name, CAST(NULL AS BIGINT) AS backup_policy_schema_id,
  backup_set.policy_schema AS backup_policy_schema_name, CAST(NULL AS BIGINT) AS backup_policy_catalog_id,
  backup_set.policy_catalog AS backup_policy_catalog_name, backup_set.owner,
  CAST(NULL AS STRING) AS owner_role_type, created, last_altered, deleted, backup_set.comment,
  if(backup_set.is_creation_suspended, 'Y', 'N') AS is_creation_suspended,
  if(backup_set.is_expiration_suspended, 'Y', 'N') AS is_expiration_suspended
FROM {schema}.object_backups WHERE kind = 'SET'
