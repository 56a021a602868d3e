-- https://docs.snowflake.com/en/sql-reference/account-usage (Examples: Query counts for every login session)
-- Changed: the schema; a login is the session itself.
SELECT s.user_name, s.session_id, count(q.query_id) AS queries
FROM account_usage.sessions s
JOIN account_usage.query_history q ON q.session_id = s.session_id
GROUP BY 1, 2
ORDER BY 1
