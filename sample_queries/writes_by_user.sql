-- Who changes which tables, by which kinds of statements, and how many rows and bytes?
-- Reads account_usage.access_history and account_usage.query_history.
-- Theme: changes
-- :days = 30   how far back
SELECT a.user_name, a.object_name, q.query_type, count(*) AS statements,
  coalesce(sum(q.rows_produced), 0) AS rows_produced, coalesce(sum(q.bytes_written), 0) AS bytes_written,
  max(a.query_start_time) AS last_written
FROM (
  SELECT DISTINCT query_id, query_start_time, query_date, user_name, o.objectName AS object_name
  FROM account_usage.access_history LATERAL VIEW explode(objects_modified) AS o
  WHERE query_start_time >= current_timestamp() - make_dt_interval(:days) AND o.objectDomain <> 'STAGE'
) a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
WHERE q.start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY a.user_name, a.object_name, q.query_type
ORDER BY a.user_name, a.object_name, q.query_type
