-- Which backup policies are there, which were there, and what do they say? One row for each, dropped ones included.
-- Example:
--   SELECT name, schedule, expire_after_days, has_retention_lock
--   FROM account_usage.backup_policies
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.backup_policies (
  id COMMENT 'Identifier of the policy; survives a rename',
  name COMMENT 'Name of the policy',
  schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  schema_name COMMENT 'The schema',
  catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  catalog_name COMMENT 'The catalog',
  schedule COMMENT 'SCHEDULE: when backups are made; null where none are made by themselves',
  expire_after_days COMMENT 'Days after which a backup is deleted; null for never',
  has_retention_lock COMMENT 'Y: nobody deletes a backup before it has expired. Else N',
  owner COMMENT 'Who created it',
  owner_role_type COMMENT 'NULL: not measured',
  created COMMENT 'When it was created (UTC)',
  last_altered COMMENT 'When a statement changed it last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the policy'
) COMMENT 'Backup policies, dropped ones included' AS
SELECT policy.id, policy.name, CAST(NULL AS BIGINT) AS schema_id, policy.schema_name,
  CAST(NULL AS BIGINT) AS catalog_id, policy.catalog_name, policy.schedule, policy.expire_after_days,
  if(policy.has_retention_lock, 'Y', 'N') AS has_retention_lock, policy.owner,
  CAST(NULL AS STRING) AS owner_role_type, created, last_altered, deleted, policy.comment
FROM {schema}.object_backups WHERE kind = 'POLICY'
