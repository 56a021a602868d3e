-- Who tried what in vain? One row for each day, user, object that was named and error.
-- Example:
--   SELECT user_name, object_name, error_code, sum(attempts) AS attempts
--   FROM account_usage.failed_and_denied_attempts
--   WHERE query_date >= current_date() - 7 AND execution_status = 'DENIED'
--   GROUP BY user_name, object_name, error_code
--   ORDER BY attempts DESC
CREATE OR REPLACE VIEW {schema}.failed_and_denied_attempts (
  query_date COMMENT 'The day (UTC): the partition of query_history',
  user_name COMMENT 'Who tried',
  object_name COMMENT 'The object that the statements name; null where they name none',
  execution_status COMMENT 'FAIL or DENIED',
  error_code COMMENT 'The error class of Spark, or the type of the exception',
  attempts COMMENT 'Statements',
  first_attempt COMMENT 'When the first one started (UTC)',
  last_attempt COMMENT 'When the last one started (UTC)',
  last_query_id COMMENT 'The last one'
) COMMENT 'Attempts that failed or were denied: one row for each day, user, object and error' AS
SELECT query_date, user_name, object_name, execution_status, error_code, count(*) AS attempts,
  min(start_time) AS first_attempt, max(start_time) AS last_attempt, max_by(query_id, start_time) AS last_query_id
FROM {schema}.query_history
LATERAL VIEW OUTER explode(objects_tried) AS object_name
WHERE execution_status IN ('FAIL', 'DENIED') AND NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP'
GROUP BY query_date, user_name, object_name, execution_status, error_code
