-- https://docs.snowflake.com/en/user-guide/access-history (Read queries)
-- Changed: the schema.
SELECT user_name, query_id, query_start_time, direct_objects_accessed, base_objects_accessed
FROM account_usage.access_history
ORDER BY 1, 3 DESC
