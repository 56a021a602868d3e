-- https://docs.snowflake.com/en/user-guide/access-history (Facilitate compliance audits)
-- Changed: the schema; four times LATERAL FLATTEN over keys is twice LATERAL VIEW explode over fields.
-- :object_id = 0   objectId of the table
SELECT DISTINCT c.columnName AS column_name
FROM account_usage.access_history
LATERAL VIEW explode(base_objects_accessed) AS f1
LATERAL VIEW explode(f1.columns) AS c
WHERE f1.objectId = :object_id AND f1.objectDomain = 'Table'
