-- Which tags are there, and which were there? One row for each time from CREATE or UNDROP to DROP: at the time t was
-- there what has created <= t AND (deleted IS NULL OR deleted > t).
-- Example:
--   SELECT tag_schema, tag_name, allowed_values, tag_owner
--   FROM account_usage.tags
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.tags (
  tag_id COMMENT 'As objectId in access_history; survives a rename',
  tag_name COMMENT 'Name of the tag',
  tag_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  tag_schema COMMENT 'The schema',
  tag_database_id COMMENT 'NULL: schemas and catalogs are known by name',
  tag_database COMMENT 'The catalog',
  tag_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who created it',
  tag_comment COMMENT 'Of the tag',
  created COMMENT 'When it was created, or brought back by UNDROP (UTC)',
  last_altered COMMENT 'When it or its owner was changed last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  allowed_values COMMENT 'The values that it takes; null for any',
  owner_role_type COMMENT 'ROLE or USER: what tag_owner is',
  propagate COMMENT 'NULL: a tag comes down to columns, and no further',
  on_conflict COMMENT 'NULL: a tag comes down to columns, and no further'
) COMMENT 'Tags, dropped ones included' AS
SELECT tag.tag_id, tag.tag_name, CAST(NULL AS BIGINT) AS tag_schema_id, tag.tag_schema,
  CAST(NULL AS BIGINT) AS tag_database_id, tag.tag_database, tag.tag_owner, tag.tag_comment, created_on AS created,
  tag.last_altered, deleted_on AS deleted, tag.allowed_values, tag.owner_role_type,
  CAST(NULL AS STRING) AS propagate, CAST(NULL AS STRING) AS on_conflict
FROM {schema}.object_governance
WHERE kind = 'TAG'
