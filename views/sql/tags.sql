-- Which tags are there, and which were there? One row for each time from CREATE or UNDROP to DROP: at the time t was
-- there what has created <= t AND (deleted IS NULL OR deleted > t).
-- Example:
--   SELECT tag_schema, tag_name, allowed_values, tag_owner
--   FROM account_usage.tags
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.tags (
  tag_id COMMENT 'As objectId in access_history; survives a rename',
  tag_name COMMENT 'Name of the tag',
  tag_schema COMMENT 'The schema',
  tag_database COMMENT 'The catalog',
  tag_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who created it',
  tag_comment COMMENT 'Of the tag',
  created COMMENT 'When it was created, or brought back by UNDROP (UTC)',
  last_altered COMMENT 'When it or its owner was changed last (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  allowed_values COMMENT 'The values that it takes; null for any',
  owner_role_type COMMENT 'ROLE or USER: what tag_owner is'
) COMMENT 'Tags, dropped ones included' AS
SELECT tag.tag_id, tag.tag_name, tag.tag_schema, tag.tag_database, tag.tag_owner, tag.tag_comment,
  created_on AS created, tag.last_altered, deleted_on AS deleted, tag.allowed_values, tag.owner_role_type
FROM {schema}.object_governance
WHERE kind = 'TAG'
