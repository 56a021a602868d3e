-- Which statements failed or were denied, and what did they try to touch?
-- Reads account_usage.query_history: only statements that succeed have a row in access_history.
-- Theme: refusals and administrators
-- :days = 30   how far back
SELECT start_time, user_name, role_name, execution_status, error_code,
  array_join(objects_tried, ', ') AS objects_tried, query_text
FROM account_usage.query_history
WHERE execution_status IN ('FAIL', 'DENIED', 'INCOMPLETE')
  AND start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY start_time DESC
