-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Impact analysis)
-- Changed: the name of the view; names are parameters.
-- :full_name = 'spark_catalog.staging.flights'   the table
-- :column_name = 'arr_delay'   its column
SELECT DISTINCT target_table_full_name, target_column_name
FROM account_usage.system_access_column_lineage
WHERE source_table_full_name = :full_name AND source_column_name = :column_name
