-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Find column origins)
-- Changed: the name of the view; names are parameters.
-- :full_name = 'spark_catalog.clean.flights'   the table
-- :column_name = 'arr_delay'   its column
SELECT source_table_full_name, source_column_name, target_table_full_name, target_column_name
FROM account_usage.system_access_column_lineage
WHERE target_table_full_name = :full_name AND target_column_name = :column_name
ORDER BY event_time DESC
