-- https://docs.snowflake.com/en/sql-reference/account-usage (Examples: Warehouse performance)
-- Changed: the schema and the name of the view; the unit is quoted. There are no warehouses: one row, of NULL.
SELECT warehouse_name, count(*) AS number_of_jobs
FROM account_usage.snowflake_query_history
WHERE start_time >= date_trunc('MONTH', current_date())
GROUP BY 1
ORDER BY 2 DESC
