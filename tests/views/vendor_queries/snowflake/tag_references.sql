-- https://docs.snowflake.com/en/user-guide/object-tagging/monitor (Account-level: identify tags and their objects)
-- Changed: the schema. What is there no longer has rows, too.
SELECT * FROM account_usage.tag_references
ORDER BY tag_name, domain, object_id
