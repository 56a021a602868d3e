-- https://docs.snowflake.com/en/user-guide/access-history (Facilitate compliance audits)
-- Changed: the schema; LATERAL FLATTEN is LATERAL VIEW explode, a path is a field.
-- :object_id = 0   objectId of the table
SELECT DISTINCT user_name
FROM account_usage.access_history
LATERAL VIEW explode(base_objects_accessed) AS f1
WHERE f1.objectId = :object_id AND f1.objectDomain = 'Table'
  AND query_start_time >= dateadd(DAY, -30, current_timestamp())
