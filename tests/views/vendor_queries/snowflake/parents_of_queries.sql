-- https://docs.snowflake.com/en/user-guide/access-history (Ancestor queries)
-- Changed: the schema.
SELECT query_id, parent_query_id, root_query_id, direct_objects_accessed
FROM account_usage.access_history
