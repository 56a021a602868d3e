-- What do the backups of each set bind now? One row for each backup set that is there.
-- Example:
--   SELECT backup_set_name, backups, held_backups, bytes
--   FROM account_usage.backup_storage_usage
--   ORDER BY bytes DESC
CREATE OR REPLACE VIEW {schema}.backup_storage_usage (
  backup_set_id COMMENT 'Identifier of the backup set',
  backup_set_name COMMENT 'Name of the backup set',
  backup_set_schema COMMENT 'The schema of the backup set',
  backup_set_catalog COMMENT 'The catalog of the backup set',
  backups COMMENT 'Number of its backups',
  held_backups COMMENT 'How many of them are under a legal hold',
  bytes COMMENT 'Bytes of the files of all its backups; a file counts for each backup that has it',
  first_expiration COMMENT 'When the first of them expires (UTC); null for never',
  last_expiration COMMENT 'When the last of them expires (UTC); null for never'
) COMMENT 'What the backups of each set bind' AS
SELECT backup_set_id, backup_set_name, backup_set_schema, backup_set_catalog, count(*) AS backups,
  count_if(is_under_legal_hold = 'Y') AS held_backups, CAST(sum(bytes) AS BIGINT) AS bytes,
  min(expiration_scheduled_for) AS first_expiration, max(expiration_scheduled_for) AS last_expiration
FROM {schema}.backups WHERE deleted IS NULL
GROUP BY backup_set_id, backup_set_name, backup_set_schema, backup_set_catalog
