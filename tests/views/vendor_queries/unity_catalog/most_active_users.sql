-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Most active query users)
-- Changed: the name of the view.
SELECT executed_by, count(*) AS query_count, sum(total_duration_ms) / 1000 / 60 AS total_minutes,
  avg(total_duration_ms) / 1000 AS avg_seconds
FROM account_usage.system_query_history
WHERE start_time >= current_date() - 30
GROUP BY executed_by
ORDER BY query_count DESC
LIMIT 20
