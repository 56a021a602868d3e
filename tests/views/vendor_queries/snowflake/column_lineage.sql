-- https://docs.snowflake.com/en/user-guide/access-history (Column lineage)
-- Changed: the schema; LATERAL FLATTEN with outer is LATERAL VIEW OUTER explode, a path is a field.
SELECT s.objectId AS source_object_id, s.objectName AS source_object_name, s.columnName AS source_column_name,
  'DIRECT' AS source_column_type, om.objectName AS target_object_name, c.columnName AS target_column_name
FROM account_usage.access_history
LATERAL VIEW explode(objects_modified) AS om
LATERAL VIEW OUTER explode(om.columns) AS c
LATERAL VIEW OUTER explode(c.directSources) AS s
UNION
SELECT s.objectId, s.objectName, s.columnName, 'BASE', om.objectName, c.columnName
FROM account_usage.access_history
LATERAL VIEW explode(objects_modified) AS om
LATERAL VIEW OUTER explode(om.columns) AS c
LATERAL VIEW OUTER explode(c.baseSources) AS s
