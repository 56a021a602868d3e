-- Which sessions did a user work in, from where, since when, and did others work in them as well?
-- Reads account_usage.statements and account_usage.sessions.
-- Theme: origin and purpose
-- :user_name = 'bob'   as in query_history
-- :days = 30           how far back
WITH worked AS (
  SELECT session_id, CAST(sum(calls) AS BIGINT) AS statements, min(start_time) AS first_statement, max(start_time) AS last_statement
  FROM account_usage.statements
  WHERE user_name = :user_name AND query_type <> 'GAP'
    AND start_time >= current_timestamp() - make_dt_interval(:days)
  GROUP BY session_id
)
SELECT s.session_id, s.user_name AS attached_by, s.users, s.created_on, s.detached_on, w.statements,
  w.first_statement, w.last_statement, s.client_address, s.client_program, s.os_user
FROM worked w
JOIN account_usage.sessions s ON s.session_id = w.session_id
ORDER BY w.last_statement DESC, s.session_id
