-- Which schemas are there, and which can be brought back? One row for each schema: those that are there and those that
-- were dropped and can be brought back or recovered.
-- Example:
--   SELECT schema_name, schema_owner, retention_time, created, deleted
--   FROM account_usage.schemata
--   ORDER BY schema_name
CREATE OR REPLACE VIEW {schema}.schemata (
  schema_id COMMENT 'Identifier of the schema',
  schema_name COMMENT 'The name',
  catalog_id COMMENT 'NULL: schemas and catalogs are known by name',
  catalog_name COMMENT 'The catalog',
  schema_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  retention_time COMMENT 'The retention period in force, days',
  is_transient COMMENT 'YES: what is in it is kept for a day at most',
  is_managed_access COMMENT 'NO',
  default_character_set_catalog COMMENT 'NULL: not of Spark',
  default_character_set_schema COMMENT 'NULL: not of Spark',
  default_character_set_name COMMENT 'NULL: not of Spark',
  sql_path COMMENT 'NULL: not of Spark',
  comment COMMENT 'Of the schema',
  created COMMENT 'When it was made (UTC); null for one that another session has made',
  last_altered COMMENT 'NULL: ddl_history has it',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  schema_type COMMENT 'NULL: not of Spark',
  owner_role_type COMMENT 'NULL: not measured',
  version_name COMMENT 'NULL: not of Spark',
  versioned_schema_id COMMENT 'NULL: not of Spark',
  object_visibility COMMENT 'NULL: not of Spark',
  location COMMENT 'Where it lies',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Schemas, dropped ones included' AS
SELECT schema_id, schema_name, CAST(NULL AS BIGINT) AS catalog_id, catalog_name, schema_owner, retention_time,
  if(is_transient, 'YES', 'NO') AS is_transient, 'NO' AS is_managed_access,
  CAST(NULL AS STRING) AS default_character_set_catalog, CAST(NULL AS STRING) AS default_character_set_schema,
  CAST(NULL AS STRING) AS default_character_set_name, CAST(NULL AS STRING) AS sql_path, comment, created,
  CAST(NULL AS TIMESTAMP) AS last_altered, deleted, CAST(NULL AS STRING) AS schema_type,
  CAST(NULL AS STRING) AS owner_role_type, CAST(NULL AS STRING) AS version_name,
  CAST(NULL AS BIGINT) AS versioned_schema_id, CAST(NULL AS STRING) AS object_visibility, location, measured_at
FROM {schema}.object_schemata
