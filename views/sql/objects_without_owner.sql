-- Which tables and views belong to nobody but the administrators? One row for each whose OWNERSHIP is theirs, or of which
-- no OWNERSHIP is granted and no creation is on record: it was made before the audit began, or without it.
-- Example:
--   SELECT object_name, owner_in_catalog, created
--   FROM account_usage.objects_without_owner
--   ORDER BY object_name
CREATE OR REPLACE VIEW {schema}.objects_without_owner (
  object_name COMMENT 'catalog.schema.object',
  object_domain COMMENT 'Table or VIEW',
  object_id COMMENT 'As objectId in access_history; survives a rename where it is a Delta table',
  owner_in_catalog COMMENT 'Who made it, as the catalog says',
  created COMMENT 'When it was made (UTC)',
  location COMMENT 'Where its files lie; null for a view',
  measured_at COMMENT 'When it was found (UTC); it still was there when a text last named a view of the catalog'
) COMMENT 'Tables and views without an owner on record' AS
SELECT c.object_name, c.object_domain, c.object_id, c.owner AS owner_in_catalog, c.created, c.location, c.measured_at
FROM {schema}.catalog_tables c
LEFT JOIN (
  SELECT object_id, max(grantee_name) AS owner
  FROM {schema}.grants_to_roles
  WHERE privilege = 'OWNERSHIP' AND deleted_on IS NULL
  GROUP BY object_id
) o ON o.object_id = c.object_id
LEFT JOIN (
  SELECT DISTINCT object_id FROM {schema}.ddl_history WHERE operation_type IN ('CREATE', 'REPLACE')
) m ON m.object_id = c.object_id
WHERE c.deleted IS NULL AND (o.owner = 'ACCOUNTADMIN' OR (o.object_id IS NULL AND m.object_id IS NULL))
