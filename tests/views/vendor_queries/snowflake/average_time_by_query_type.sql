-- https://docs.snowflake.com/en/sql-reference/account-usage (Examples: Query performance)
-- Changed: the schema; there are no warehouses, and execution_time is total_elapsed_time.
SELECT query_type, avg(total_elapsed_time) / 1000 AS average_execution_time
FROM account_usage.query_history
WHERE start_time >= date_trunc('MONTH', current_date())
GROUP BY 1
ORDER BY 2 DESC
