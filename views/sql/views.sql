-- Which views does the catalog hold, and what do they say? One row for each, and for each dropped one that can be
-- brought back; those beside the audit tables are left out.
-- Example:
--   SELECT table_schema, table_name, view_definition
--   FROM account_usage.views
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.views (
  table_id COMMENT 'As objectId in access_history',
  table_name COMMENT 'The name',
  table_schema COMMENT 'The schema',
  table_catalog COMMENT 'The catalog',
  table_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  view_definition COMMENT 'Its query, as the catalog keeps it',
  created COMMENT 'When it was made (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the view',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Views, dropped ones included' AS
SELECT relation.object_id AS table_id, relation.table_name, relation.schema_name AS table_schema,
  relation.catalog_name AS table_catalog, relation.owner AS table_owner, relation.view_definition, relation.created,
  relation.deleted, relation.comment, measured_at
FROM {schema}.object_catalog
WHERE kind = 'RELATION' AND relation.object_domain = 'VIEW'
