-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Failed queries analysis)
-- Changed: the name of the view.
SELECT executed_by, error_message, count(*) AS failure_count
FROM account_usage.system_query_history
WHERE start_time >= current_date() - 7 AND execution_status = 'FAILED'
GROUP BY executed_by, error_message
ORDER BY failure_count DESC
LIMIT 20
