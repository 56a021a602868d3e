-- Which users are known? One row for each who was granted a role or a privilege, or who issued a statement; nobody
-- creates or drops a user here.
-- Example:
--   SELECT name, created_on, last_statement_on
--   FROM account_usage.users
--   ORDER BY last_statement_on DESC
CREATE OR REPLACE VIEW {schema}.users (
  name COMMENT 'As user_name in query_history',
  created_on COMMENT 'When the user was first granted something, or first issued a statement (UTC)',
  last_statement_on COMMENT 'When the user issued the last statement (UTC); null for none on record'
) COMMENT 'Users who were granted something or issued a statement' AS
SELECT name, min(seen_on) AS created_on, max(statement_on) AS last_statement_on
FROM (
  SELECT privilege.grantee_name AS name, created_on AS seen_on, CAST(NULL AS TIMESTAMP) AS statement_on
  FROM {schema}.object_governance
  WHERE kind = 'PRIVILEGE' AND privilege.granted_to = 'USER'
  UNION ALL
  SELECT user_name, start_time, start_time
  FROM {schema}.query_history
  WHERE user_name IS NOT NULL AND coalesce(query_type, '') <> 'GAP'
    AND NOT startswith(coalesce(query_type, ''), 'AUDIT_')
)
GROUP BY name
