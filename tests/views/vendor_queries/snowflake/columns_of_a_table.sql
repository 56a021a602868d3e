-- https://docs.snowflake.com/en/sql-reference/account-usage/columns (Examples)
-- Changed: the schema; the names are those of here.
-- :table_name = 'flights'   the table
SELECT *
FROM account_usage.columns
WHERE table_catalog = 'spark_catalog' AND table_name = :table_name AND deleted IS NULL
