-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Slowest queries)
-- Changed: the name of the view; of statements that took as long the order is told.
SELECT statement_id, executed_by, compute.warehouse_id AS warehouse_id, total_duration_ms / 1000 AS duration_seconds,
  produced_rows, left(statement_text, 100) AS query_preview
FROM account_usage.system_query_history
WHERE start_time >= current_date() - 7 AND execution_status = 'FINISHED'
ORDER BY total_duration_ms DESC, statement_id
LIMIT 20
