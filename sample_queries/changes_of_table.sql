-- Who changed the data of a table, when, and which Delta version came of it?
-- Reads account_usage.access_history and account_usage.query_history. The version is what
-- `SELECT * FROM t VERSION AS OF n` wants.
-- Theme: changes
-- :object_name = 'spark_catalog.clean.flights'   the full name of the table
-- :days = 30                                     how far back
SELECT a.query_start_time, a.user_name, q.query_type,
  get(filter(a.object_versions, v -> v.objectName = :object_name AND v.access = 'write'), 0).version AS version,
  q.rows_produced, q.query_text
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
LATERAL VIEW explode(a.objects_modified) AS o
WHERE o.objectName = :object_name
  AND a.query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY a.query_start_time DESC
