-- Which views does the catalog hold, and what do they say? One row for each, and for each dropped one that can be
-- brought back; those beside the audit tables are left out.
-- Example:
--   SELECT table_schema, table_name, view_definition
--   FROM account_usage.views
--   WHERE deleted IS NULL
CREATE OR REPLACE VIEW {schema}.views (
  table_id COMMENT 'As objectId in access_history',
  table_name COMMENT 'The name',
  table_schema_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_schema COMMENT 'The schema',
  table_catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  table_catalog COMMENT 'The catalog',
  table_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  view_definition COMMENT 'Its query, as the catalog keeps it',
  check_option COMMENT 'NONE',
  is_updatable COMMENT 'NO',
  insertable_into COMMENT 'NO',
  is_secure COMMENT 'NO',
  created COMMENT 'When it was made (UTC)',
  last_altered COMMENT 'NULL: ddl_history has it',
  last_ddl COMMENT 'NULL: ddl_history has it',
  last_ddl_by COMMENT 'NULL: ddl_history has it',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  comment COMMENT 'Of the view',
  instance_id COMMENT 'NULL: not of Spark',
  owner_role_type COMMENT 'NULL: not measured',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Views, dropped ones included' AS
SELECT relation.object_id AS table_id, relation.table_name, CAST(NULL AS BIGINT) AS table_schema_id,
  relation.schema_name AS table_schema, CAST(NULL AS BIGINT) AS table_catalog_id,
  relation.catalog_name AS table_catalog, relation.owner AS table_owner, relation.view_definition,
  'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS insertable_into, 'NO' AS is_secure, relation.created,
  CAST(NULL AS TIMESTAMP) AS last_altered, CAST(NULL AS TIMESTAMP) AS last_ddl, CAST(NULL AS STRING) AS last_ddl_by,
  relation.deleted, relation.comment, CAST(NULL AS BIGINT) AS instance_id, CAST(NULL AS STRING) AS owner_role_type,
  measured_at
FROM {schema}.object_catalog
WHERE kind = 'RELATION' AND relation.object_domain = 'VIEW'
