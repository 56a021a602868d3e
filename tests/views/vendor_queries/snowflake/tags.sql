-- https://docs.snowflake.com/en/user-guide/object-tagging/monitor (Account-level: identify tags)
-- Changed: the schema.
SELECT * FROM account_usage.tags
ORDER BY tag_name
