-- https://docs.snowflake.com/en/sql-reference/account-usage/tag_references (Examples)
-- Changed: the schema.
SELECT tag_name, tag_value, domain, object_id
FROM account_usage.tag_references
WHERE object_deleted IS NULL
ORDER BY tag_name, domain, object_id
