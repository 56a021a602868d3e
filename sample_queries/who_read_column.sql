-- Who read a column in the last 7 days, in which statement, and did they name its table?
-- Reads account_usage.columns_read and account_usage.query_history.
-- Theme: reads
-- :object_name = 'spark_catalog.raw.planes'   the full name of the table or view
-- :column_name = 'seats'                      the column
-- :days = 7                                   how far back
SELECT r.query_start_time, r.user_name, if(r.is_direct, 'by name', 'through a view') AS how, q.query_text
FROM account_usage.columns_read r
JOIN account_usage.query_history q ON q.query_id = r.query_id AND q.start_time = r.query_start_time
  AND q.query_date = r.query_date
WHERE r.object_name = :object_name AND r.column_name = :column_name
  AND r.query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY r.query_start_time DESC
