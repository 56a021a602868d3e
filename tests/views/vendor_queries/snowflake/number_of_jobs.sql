-- https://docs.snowflake.com/en/sql-reference/account-usage (Examples: Query performance)
-- Changed: the schema; the unit is quoted.
SELECT count(*) AS number_of_jobs
FROM account_usage.query_history
WHERE start_time >= date_trunc('MONTH', current_date())
