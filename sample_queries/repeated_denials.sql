-- Who fails or is denied again and again, with which object and error?
-- Reads account_usage.failed_and_denied_attempts.
-- Theme: refusals and administrators
-- :days = 30      how far back
-- :at_least = 1   how many attempts make a row
SELECT user_name, object_name, execution_status, error_code, sum(attempts) AS attempts,
  count(DISTINCT query_date) AS days, min(first_attempt) AS first_attempt, max(last_attempt) AS last_attempt
FROM account_usage.failed_and_denied_attempts
WHERE query_date >= current_date() - :days
GROUP BY user_name, object_name, execution_status, error_code
HAVING sum(attempts) >= :at_least
ORDER BY attempts DESC, user_name, object_name NULLS FIRST, error_code
