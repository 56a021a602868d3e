-- https://docs.snowflake.com/en/sql-reference/account-usage/tables (Examples)
-- Changed: the schema.
SELECT table_schema, sum(bytes)
FROM account_usage.tables
WHERE deleted IS NULL
GROUP BY table_schema
