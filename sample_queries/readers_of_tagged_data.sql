-- Who read columns that have a tag now, by themselves or by their table, how often, and for a stated purpose?
-- Reads account_usage.columns_read, account_usage.tag_references and account_usage.query_history.
-- Theme: reads
-- :tag_name = 'spark_catalog.gov.pii'   the full name of the tag
-- :days = 30                            how far back
SELECT r.user_name, r.object_name, r.column_name, t.tag_value, count(DISTINCT r.query_id) AS queries,
  count(DISTINCT if(q.purpose IS NULL, r.query_id, NULL)) AS without_purpose, max(r.query_start_time) AS last_read
FROM account_usage.columns_read r
JOIN account_usage.tag_references t
  ON t.object_id = r.object_id AND (t.domain <> 'COLUMN' OR lower(t.column_name) = lower(r.column_name))
LEFT JOIN account_usage.query_history q ON q.query_id = r.query_id AND q.start_time = r.query_start_time
  AND q.query_date = r.query_date
WHERE t.deleted_on IS NULL AND t.domain <> 'SCHEMA' AND r.column_name IS NOT NULL
  AND lower(concat_ws('.', t.tag_database, t.tag_schema, t.tag_name)) = lower(:tag_name)
  AND r.query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY r.user_name, r.object_name, r.column_name, t.tag_value
ORDER BY r.user_name, r.object_name, r.column_name, t.tag_value
