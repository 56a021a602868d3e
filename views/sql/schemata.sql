-- Which schemas are there, and which can be brought back? One row for each schema: those that are there and those that
-- were dropped and can be brought back or recovered.
-- Example:
--   SELECT schema_name, schema_owner, retention_time, created, deleted
--   FROM account_usage.schemata
--   ORDER BY schema_name
CREATE OR REPLACE VIEW {schema}.schemata (
  schema_id COMMENT 'Identifier of the schema',
  schema_name COMMENT 'The name',
  catalog_name COMMENT 'The catalog',
  schema_owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  retention_time COMMENT 'The retention period in force, days',
  is_transient COMMENT 'YES: what is in it is kept for a day at most',
  comment COMMENT 'Of the schema',
  created COMMENT 'When it was made (UTC); null for one that another session has made',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  location COMMENT 'Where it lies',
  measured_at COMMENT 'When this was found so (UTC); it still is'
) COMMENT 'Schemas, dropped ones included' AS
SELECT schema_id, schema_name, catalog_name, schema_owner, retention_time,
  if(is_transient, 'YES', 'NO') AS is_transient, comment, created, deleted, location, measured_at
FROM {schema}.object_schemata
