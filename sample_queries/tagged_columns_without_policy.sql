-- Which tagged columns does no masking policy protect today, and who read them lately?
-- Reads account_usage.tag_references, account_usage.policy_references and account_usage.columns_read.
-- Theme: policies and tags
-- :tag_name = '%'   a pattern of LIKE for the full name of the tag
-- :days = 30        how far back reads are counted
WITH tagged AS (
  SELECT t.object_id, concat_ws('.', t.object_database, t.object_schema, t.object_name) AS object_name, t.column_name,
    concat_ws('.', t.tag_database, t.tag_schema, t.tag_name) AS tag_name, t.tag_value
  FROM account_usage.tag_references t
  LEFT JOIN account_usage.policy_references p
    ON p.ref_entity_id = t.object_id AND lower(p.ref_column_name) = lower(t.column_name) AND p.deleted_on IS NULL
      AND p.policy_kind = 'MASKING_POLICY'
  WHERE t.domain = 'COLUMN' AND t.deleted_on IS NULL AND p.policy_id IS NULL
), read AS (
  SELECT object_id, lower(column_name) AS column_name, count(DISTINCT query_id) AS queries,
    array_join(sort_array(collect_set(user_name)), ', ') AS readers
  FROM account_usage.columns_read
  WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
  GROUP BY object_id, lower(column_name)
)
SELECT t.object_name, t.column_name, t.tag_name, t.tag_value, coalesce(r.queries, 0) AS queries, r.readers
FROM tagged t
LEFT JOIN read r ON r.object_id = t.object_id AND r.column_name = lower(t.column_name)
WHERE t.tag_name LIKE :tag_name
ORDER BY queries DESC, t.object_name, t.column_name, t.tag_name
