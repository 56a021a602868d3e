-- How did protection change? One row for each statement that changed a policy, a tag, a role or a grant, beside the
-- statement before it about the same thing, which is known by its id through a rename: the same policy, tag or role;
-- the same tag or policy on the same column; the same privileges of the same grantee on the same object. A WHERE on its
-- time leaves out rows, yet all days are read: the statement before may be of any age.
-- Example:
--   SELECT query_start_time, user_name, query_text, query_text_before
--   FROM account_usage.policy_changes
--   WHERE query_date >= current_date() - 7
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.policy_changes (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'Its day (UTC)',
  user_name COMMENT 'Who issued it',
  role_name COMMENT 'The role in force',
  query_type COMMENT 'CREATE_MASKING_POLICY, GRANT, REVOKE, ALTER_TABLE, ...',
  operation_type COMMENT 'CREATE, ALTER, DROP, REPLACE or UNDROP',
  object_domain COMMENT 'MASKING POLICY, ROW ACCESS POLICY, TAG or ROLE; otherwise of what the change is on',
  object_name COMMENT 'catalog.schema.object, or the role',
  properties COMMENT 'JSON: what holds since then, as in ddl_history: a body, a value of a tag, privileges, ...',
  properties_before COMMENT 'The same of the statement before; null for the first one about it',
  query_text COMMENT 'The statement',
  query_text_before COMMENT 'The statement before; null for the first one about it',
  changed_before COMMENT 'When that one started (UTC)',
  changed_before_by COMMENT 'Who issued that one'
) COMMENT 'Changes of policies, tags, roles and grants, with what was said before' AS
SELECT query_id, query_start_time, query_date, user_name, role_name, query_type, operation_type, object_domain,
  object_name, properties,
  lag(properties) OVER (
    PARTITION BY object_domain, object_key, part_key ORDER BY query_start_time, query_id) AS properties_before,
  query_text,
  lag(query_text) OVER (
    PARTITION BY object_domain, object_key, part_key ORDER BY query_start_time, query_id) AS query_text_before,
  lag(query_start_time) OVER (
    PARTITION BY object_domain, object_key, part_key ORDER BY query_start_time, query_id) AS changed_before,
  lag(user_name) OVER (
    PARTITION BY object_domain, object_key, part_key ORDER BY query_start_time, query_id) AS changed_before_by
FROM {schema}.policy_statements_of_all_days
