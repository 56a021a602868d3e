-- From which machines and programs does each user work, and since when?
-- Reads account_usage.statements.
-- Theme: origin and purpose
-- :days = 30   how far back
SELECT user_name, client_address, client_program, client_version, os_user, CAST(sum(calls) AS BIGINT) AS statements,
  count(DISTINCT session_id) AS sessions, min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE start_time >= current_timestamp() - make_dt_interval(:days) AND query_type <> 'GAP'
GROUP BY user_name, client_address, client_program, client_version, os_user
ORDER BY user_name, statements DESC, client_address, client_program, client_version
