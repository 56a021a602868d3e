-- Which tables and views belong to the administrators, since nobody was granted them and no creation is on record?
-- Reads account_usage.catalog_tables, which is as an attached session has measured it last,
-- account_usage.grants_to_roles and account_usage.ddl_history.
-- Theme: privileges
WITH owned AS (
  SELECT DISTINCT object_id
  FROM account_usage.grants_to_roles
  WHERE privilege = 'OWNERSHIP' AND deleted_on IS NULL AND grantee_name <> 'ACCOUNTADMIN'
), made AS (
  SELECT DISTINCT object_id
  FROM account_usage.ddl_history
  WHERE operation_type IN ('CREATE', 'REPLACE')
)
SELECT c.object_name, c.object_domain, c.owner AS owner_in_catalog, c.created
FROM account_usage.catalog_tables c
LEFT JOIN owned o ON o.object_id = c.object_id
LEFT JOIN made m ON m.object_id = c.object_id
WHERE c.deleted IS NULL AND o.object_id IS NULL AND m.object_id IS NULL
ORDER BY c.object_name
