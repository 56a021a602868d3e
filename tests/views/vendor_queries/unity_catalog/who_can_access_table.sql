-- https://docs.databricks.com/en/admin/system-tables/audit-logs (Who can access this table?)
-- Changed: table_privileges and schema_privileges of system.information_schema are grants_to_roles, tables is
-- catalog_tables; what was revoked is left out.
-- :schema_name = 'raw'      the schema
-- :table_name = 'flights'   the table
SELECT DISTINCT grantee_name AS `ACCESSIBLE BY`
FROM account_usage.grants_to_roles
WHERE table_schema = :schema_name AND name = :table_name AND granted_on = 'TABLE' AND deleted_on IS NULL
UNION
SELECT owner FROM account_usage.catalog_tables
WHERE schema_name = :schema_name AND table_name = :table_name AND deleted IS NULL
UNION
SELECT DISTINCT grantee_name FROM account_usage.grants_to_roles
WHERE name = :schema_name AND granted_on = 'SCHEMA' AND deleted_on IS NULL
