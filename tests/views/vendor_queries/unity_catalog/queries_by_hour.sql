-- https://github.com/databricks-solutions/ai-dev-kit (databricks-unity-catalog, 5-system-tables.md: Query volume by hour)
-- Changed: the name of the view.
SELECT date(start_time) AS query_date, hour(start_time) AS query_hour, count(*) AS query_count,
  avg(total_duration_ms / 1000) AS avg_duration_seconds
FROM account_usage.system_query_history
WHERE start_time >= current_date() - 7
GROUP BY date(start_time), hour(start_time)
ORDER BY query_date DESC, query_hour
