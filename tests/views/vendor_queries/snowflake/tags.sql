-- https://docs.snowflake.com/en/user-guide/object-tagging/monitor (Account-level: identify tags)
-- Changed: the schema. What is there no longer has rows, too.
SELECT * FROM account_usage.tags
ORDER BY tag_name
