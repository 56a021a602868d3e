-- When was nothing recorded, and who had it so: pauses, detached sessions, deleted days, lost records?
-- Reads account_usage.logging_history.
-- Theme: the record itself
-- :days = 30   how far back
SELECT event_type, user_name, os_user, count(*) AS events, sum(duration) AS milliseconds, min(event_time) AS first_time,
  max(event_time) AS last_time, max(message) AS message
FROM account_usage.logging_history
WHERE event_type IN ('AUDIT_RESUME', 'AUDIT_DETACH', 'AUDIT_RETAIN', 'GAP')
  AND event_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY event_type, user_name, os_user
ORDER BY event_type, user_name, os_user
