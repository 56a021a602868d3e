-- https://docs.snowflake.com/en/sql-reference/account-usage/row_access_policies (Examples)
-- Changed: the schema. What is there no longer has rows, too.
SELECT policy_name, policy_signature, created
FROM account_usage.row_access_policies
ORDER BY created
