-- https://docs.snowflake.com/en/sql-reference/account-usage (Examples: User query totals and execution times)
-- Changed: the schema and the name of the view; the unit is quoted.
SELECT query_type, warehouse_size, avg(execution_time) AS average_execution_time
FROM account_usage.snowflake_query_history
WHERE start_time >= date_trunc('MONTH', current_date())
GROUP BY 1, 2
ORDER BY 3 DESC
