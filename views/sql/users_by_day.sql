-- Who worked on which day, and how much? One row for each day and user; what happened to the logging itself is left out.
-- Example:
--   SELECT query_date, user_name, statements, failed_statements
--   FROM account_usage.users_by_day
--   WHERE query_date >= current_date() - 7
--   ORDER BY query_date, statements DESC
CREATE OR REPLACE VIEW {schema}.users_by_day (
  query_date COMMENT 'The day (UTC)',
  user_name COMMENT 'Who issued the statements',
  statements COMMENT 'Statements of the day, whatever became of them',
  failed_statements COMMENT 'Of these: those that failed, were denied or are incomplete',
  first_statement_on COMMENT 'When the first one started (UTC)',
  last_statement_on COMMENT 'When the last one started (UTC)'
) COMMENT 'Users at work: one row for each day and user' AS
SELECT query_date, user_name, CAST(sum(coalesce(calls, 1)) AS BIGINT) AS statements,
  count_if(execution_status IN ('FAIL', 'DENIED', 'INCOMPLETE')) AS failed_statements,
  min(start_time) AS first_statement_on, max(start_time) AS last_statement_on
FROM {schema}.query_history
WHERE user_name IS NOT NULL AND coalesce(query_type, '') <> 'GAP'
  AND NOT startswith(coalesce(query_type, ''), 'AUDIT_') AND {unfinished}
GROUP BY query_date, user_name
-- <finished_user_days>
UNION ALL
SELECT query_date, user_name, statements, failed_statements, first_statement_on, last_statement_on
FROM {schema}.finished_user_days
WHERE query_date <= {newest} AND statements IS NOT NULL
-- </finished_user_days>
