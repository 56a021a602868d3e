-- https://docs.snowflake.com/en/sql-reference/account-usage/tag_references (Examples)
-- Changed: the schema; tags that were taken off have rows, too, and are left out by deleted_on.
SELECT tag_name, tag_value, domain, object_id
FROM account_usage.tag_references
WHERE object_deleted IS NULL AND deleted_on IS NULL
ORDER BY tag_name, domain, object_id
