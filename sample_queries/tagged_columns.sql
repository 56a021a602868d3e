-- Which columns are tagged, with which value, since when, and which policy masks them?
-- Reads account_usage.tag_references and account_usage.policy_references. Columns that a tag reaches by their table or
-- schema are told by the sample query columns_of_tag.
-- Theme: policies and tags
-- :tag_name = '%'   a pattern of LIKE for the full name of the tag
SELECT concat_ws('.', t.object_database, t.object_schema, t.object_name) AS object_name, t.column_name,
  concat_ws('.', t.tag_database, t.tag_schema, t.tag_name) AS tag_name, t.tag_value, t.created_on,
  concat_ws('.', p.policy_db, p.policy_schema, p.policy_name) AS masked_by
FROM account_usage.tag_references t
LEFT JOIN account_usage.policy_references p
  ON p.ref_entity_id = t.object_id AND p.ref_column_name = t.column_name AND p.deleted_on IS NULL
WHERE t.domain = 'COLUMN' AND t.deleted_on IS NULL
  AND concat_ws('.', t.tag_database, t.tag_schema, t.tag_name) LIKE :tag_name
ORDER BY object_name, t.column_name, tag_name
