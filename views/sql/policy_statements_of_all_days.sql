-- Which statements changed protection, over all the history that is kept? The rows of policy_statements, which opens a
-- file for each day; where audit summarize has run this view opens one for all days that are over. policy_changes has
-- them beside the statement before about the same thing.
-- Example:
--   SELECT query_start_time, user_name, query_type, object_name, query_text
--   FROM account_usage.policy_statements_of_all_days
--   WHERE object_name = 'spark_catalog.clean.hide_email'
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.policy_statements_of_all_days (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'Its day (UTC)',
  user_name COMMENT 'Who issued it',
  role_name COMMENT 'The role in force',
  query_type COMMENT 'CREATE_MASKING_POLICY, GRANT, REVOKE, ALTER_TABLE, ...',
  operation_type COMMENT 'CREATE, ALTER, DROP, REPLACE or UNDROP',
  object_domain COMMENT 'MASKING POLICY, ROW ACCESS POLICY, TAG or ROLE; otherwise of what the change is on',
  object_name COMMENT 'catalog.schema.object, or the role',
  object_key COMMENT 'What it is about: the id of the object, which survives a rename, or its name where it has none',
  part_key COMMENT 'Which part of it: the grantee with the privileges, or the column with the tag or policy; empty for all of it',
  properties COMMENT 'JSON: what holds since then, as in ddl_history: a body, a value of a tag, privileges, ...',
  query_text COMMENT 'The statement'
) COMMENT 'Statements that changed a policy, a tag, a role or a grant, of all days' AS
SELECT query_id, query_start_time, query_date, user_name, role_name, query_type, operation_type, object_domain,
  object_name, object_key, part_key, properties, query_text
FROM {schema}.policy_statements
WHERE {unfinished}
-- <finished_policy_statements_of_all_days>
UNION ALL
SELECT query_id, query_start_time, query_date, user_name, role_name, query_type, operation_type, object_domain,
  object_name, object_key, part_key, properties, query_text
FROM {schema}.finished_policy_statements_of_all_days
WHERE as_of = {newest}
-- </finished_policy_statements_of_all_days>
