-- When was each user last at work? One row for each user of the history that is kept; what happened to the logging itself is
-- left out. All days are read.
-- Example:
--   SELECT user_name, last_statement_on
--   FROM account_usage.users_last_active
--   ORDER BY last_statement_on
CREATE OR REPLACE VIEW {schema}.users_last_active (
  query_date COMMENT 'The day of the last statement (UTC)',
  user_name COMMENT 'Who issued it',
  last_statement_on COMMENT 'When it started (UTC)'
) COMMENT 'The last statement of each user' AS
SELECT max(query_date) AS query_date, user_name, max(last_statement_on) AS last_statement_on
FROM (
  SELECT query_date, user_name, last_statement_on
  FROM {schema}.users_by_day
  WHERE {unfinished}
  -- <finished_users_last_active>
  UNION ALL
  SELECT query_date, user_name, last_statement_on
  FROM {schema}.finished_users_last_active
  WHERE as_of = {newest}
  -- </finished_users_last_active>
)
GROUP BY user_name
