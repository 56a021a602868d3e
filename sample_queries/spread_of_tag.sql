-- Where did tagged data go, how was it changed on the way, and is the copy tagged?
-- Reads account_usage.tagged_data_spread.
-- Theme: lineage
-- :tag_name = 'spark_catalog.gov.pii'   the full name of the tag
-- :days = 365                           how far back
SELECT source_object_name, source_column_name, tag_value, target_object_domain, target_object_name, target_column_name,
  transformation, target_is_tagged, count(DISTINCT query_id) AS statements, max(query_start_time) AS last_written
FROM account_usage.tagged_data_spread
WHERE lower(tag_name) = lower(:tag_name) AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY source_object_name, source_column_name, tag_value, target_object_domain, target_object_name,
  target_column_name, transformation, target_is_tagged
ORDER BY source_object_name, source_column_name, target_object_name, target_column_name, transformation
