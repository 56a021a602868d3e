-- Which statements could not be analysed in full, and why: what must be looked at by hand?
-- Reads account_usage.access_history and account_usage.query_history.
-- Theme: the record itself
-- :days = 30   how far back
SELECT a.query_start_time, a.user_name, a.analysis, a.analysis_reason, q.query_type, q.query_text
FROM account_usage.access_history a
JOIN account_usage.query_history q ON q.query_id = a.query_id AND q.start_time = a.query_start_time
  AND q.query_date = a.query_date
WHERE a.analysis <> 'full' AND a.query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY a.query_start_time DESC
