-- Which tag is, or was, on which object or column, with which value? One row for each time that a tag had a value
-- there: at the time t it had what has created_on <= t AND (deleted_on IS NULL OR deleted_on > t). Tags that come down
-- from a schema or a table have no row of their own; those of a dropped table stay for UNDROP.
-- Example:
--   SELECT tag_name, tag_value, object_schema, object_name, column_name
--   FROM account_usage.tag_references
--   WHERE deleted_on IS NULL
CREATE OR REPLACE VIEW {schema}.tag_references (
  tag_database COMMENT 'The catalog of the tag',
  tag_schema COMMENT 'Its schema',
  tag_id COMMENT 'As objectId in access_history; survives a rename',
  tag_name COMMENT 'Its name',
  tag_value COMMENT 'The value',
  object_database COMMENT 'The catalog of the object',
  object_schema COMMENT 'Its schema; null for a schema',
  object_id COMMENT 'Of the object, as objectId in access_history; survives a rename',
  object_name COMMENT 'The table, view or schema, by its name as of the last change of its policies or tags',
  object_deleted COMMENT 'NULL: tables and catalog_tables have it',
  domain COMMENT 'TABLE, VIEW, SCHEMA, or COLUMN where the tag is on a column',
  column_id COMMENT 'As columnId in access_history; of a clone that of its source; null for an object',
  column_name COMMENT 'The column; null where the tag is on the object',
  apply_method COMMENT 'MANUAL: a statement has set it',
  created_on COMMENT 'Since when it is there (UTC)',
  deleted_on COMMENT 'Until when it was there (UTC); null where it still is'
) COMMENT 'Tags on objects and columns, former ones included' AS
SELECT tag_use.tag_database, tag_use.tag_schema, tag_use.tag_id, tag_use.tag_name, tag_use.tag_value,
  tag_use.object_database, tag_use.object_schema, tag_use.object_id, tag_use.object_name,
  CAST(NULL AS TIMESTAMP) AS object_deleted, tag_use.domain, tag_use.column_id, tag_use.column_name,
  'MANUAL' AS apply_method, created_on, deleted_on
FROM {schema}.object_governance
WHERE kind = 'TAG_USE'
