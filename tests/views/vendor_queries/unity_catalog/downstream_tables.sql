-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Find downstream tables)
-- Changed: the name of the view; the name of the table is a parameter.
-- :full_name = 'spark_catalog.staging.flights'   the table
SELECT DISTINCT target_table_full_name, target_type, max(event_time) AS last_updated
FROM account_usage.system_access_table_lineage
WHERE source_table_full_name = :full_name
GROUP BY target_table_full_name, target_type
ORDER BY last_updated DESC
