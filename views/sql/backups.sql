-- Which backups are there, until when, and under which hold? One row for each, deleted ones included.
-- Example:
--   SELECT backup_set_name, id, created, expiration_scheduled_for, is_under_legal_hold
--   FROM account_usage.backups
--   WHERE deleted IS NULL
--   ORDER BY created DESC
CREATE OR REPLACE VIEW {schema}.backups (
  id COMMENT 'Identifier of the backup, as FROM BACKUP SET … IDENTIFIER takes it',
  backup_set_id COMMENT 'Identifier of its backup set',
  backup_set_name COMMENT 'Name of its backup set',
  backup_set_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  backup_set_schema COMMENT 'The schema of its backup set',
  backup_set_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  backup_set_catalog COMMENT 'The catalog of its backup set',
  created COMMENT 'When it was made (UTC)',
  deleted COMMENT 'When it was deleted (UTC); null for one that is there',
  expiration_scheduled_for COMMENT 'When it expires (UTC), as far as is known now; null for never',
  is_under_legal_hold COMMENT 'Y: nobody deletes it, expired or not. Else N',
  comment COMMENT 'NULL: a backup has none',
  deleted_by COMMENT 'STATEMENT, EXPIRATION or DROP of its backup set; null for one that is there',
  is_scheduled COMMENT 'Y: made by the schedule. N: by ADD BACKUP',
  bytes COMMENT 'Bytes of its files, those included that its table still has',
  files COMMENT 'Number of its files',
  tables COMMENT 'Number of its tables'
) COMMENT 'Backups, deleted ones included' AS
SELECT backup.id, backup.set_id AS backup_set_id, backup.set_name AS backup_set_name,
  CAST(NULL AS BIGINT) AS backup_set_schema_id, backup.set_schema AS backup_set_schema,
  CAST(NULL AS BIGINT) AS backup_set_catalog_id, backup.set_catalog AS backup_set_catalog, created, deleted,
  backup.expiration_scheduled_for, if(backup.is_under_legal_hold, 'Y', 'N') AS is_under_legal_hold,
  CAST(NULL AS STRING) AS comment, backup.deleted_by, if(backup.is_scheduled, 'Y', 'N') AS is_scheduled,
  backup.bytes, backup.files, backup.tables
FROM {schema}.object_backups WHERE kind = 'BACKUP'
