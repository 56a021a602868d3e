-- Which columns does a tag reach today, by themselves, by their table or by their schema, and with which value?
-- Reads account_usage.columns, which is as an attached session has measured it last, and account_usage.tag_references.
-- The nearest level gives the value.
-- Theme: policies and tags
-- :tag_name = 'spark_catalog.gov.pii'   the full name of the tag
WITH tagged AS (
  SELECT object_database, object_id, object_name, domain, column_name, tag_value
  FROM account_usage.tag_references
  WHERE deleted_on IS NULL AND lower(concat_ws('.', tag_database, tag_schema, tag_name)) = lower(:tag_name)
), reached AS (
  SELECT c.*, 1 AS level, t.tag_value FROM account_usage.columns c
  JOIN tagged t ON t.domain = 'COLUMN' AND t.object_id = c.table_id AND lower(t.column_name) = lower(c.column_name)
  UNION ALL
  SELECT c.*, 2, t.tag_value FROM account_usage.columns c
  JOIN tagged t ON t.domain IN ('TABLE', 'VIEW') AND t.object_id = c.table_id
  UNION ALL
  SELECT c.*, 3, t.tag_value FROM account_usage.columns c
  JOIN tagged t ON t.domain = 'SCHEMA' AND t.object_database = c.table_catalog
    AND lower(t.object_name) = lower(c.table_schema)
)
SELECT concat_ws('.', table_catalog, table_schema, table_name) AS object_name, column_name, data_type,
  CASE min(level) WHEN 1 THEN 'the column' WHEN 2 THEN 'the table' ELSE 'the schema' END AS tagged_by,
  min_by(tag_value, level) AS tag_value
FROM reached
GROUP BY table_catalog, table_schema, table_name, ordinal_position, column_name, data_type
ORDER BY object_name, ordinal_position
