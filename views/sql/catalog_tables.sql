-- Which tables and views does the catalog hold, of any provider? One row for each, and for each dropped one that can be
-- brought back. The history alone cannot name a table that nobody has touched.
-- Example:
--   SELECT provider, count(*) AS tables
--   FROM account_usage.catalog_tables
--   WHERE deleted IS NULL AND object_domain = 'Table'
--   GROUP BY provider
CREATE OR REPLACE VIEW {schema}.catalog_tables (
  object_name COMMENT 'catalog.schema.object, as in access_history',
  schema_name COMMENT 'The schema',
  object_domain COMMENT 'Table or VIEW, as in access_history',
  object_id COMMENT 'As objectId in access_history; survives a rename where it is a Delta table',
  catalog_name COMMENT 'The catalog',
  table_name COMMENT 'The name',
  table_type COMMENT 'MANAGED, EXTERNAL or VIEW; a Delta table that Time Travel keeps is EXTERNAL',
  provider COMMENT 'delta, parquet, hive, ...; null for a view',
  owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  comment COMMENT 'Of the table or view',
  created COMMENT 'When it was made (UTC)',
  deleted COMMENT 'When it was dropped (UTC); null for one that is there',
  location COMMENT 'Where its files lie; null for a view',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Tables and views of the catalog, of any provider' AS
SELECT relation.object_name, relation.schema_name, relation.object_domain, relation.object_id, relation.catalog_name,
  relation.table_name, relation.table_type, relation.provider, relation.owner, relation.comment, relation.created,
  relation.deleted, relation.location, measured_at
FROM {schema}.object_catalog
WHERE kind = 'RELATION'
