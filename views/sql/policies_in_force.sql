-- Which policies stood between a statement and what it read? One row for each query and policy that stood between it
-- and what it read: a mask with its column, a row access policy with none. A policy on a view in between counts as
-- well.
-- Example:
--   SELECT user_name, object_name, column_name, policy_name, count(DISTINCT query_id) AS statements
--   FROM account_usage.policies_in_force
--   WHERE query_date >= current_date() - 7
--   GROUP BY user_name, object_name, column_name, policy_name
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.policies_in_force (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  object_domain COMMENT 'Table, VIEW, ...',
  object_name COMMENT 'catalog.schema.object',
  object_id COMMENT 'Survives a rename',
  column_name COMMENT 'The masked column; null for a row access policy',
  column_id COMMENT 'Survives a rename where the table maps its columns',
  policy_kind COMMENT 'MASKING_POLICY or ROW_ACCESS_POLICY',
  policy_name COMMENT 'catalog.schema.policy',
  policy_id COMMENT 'Survives a rename',
  policy_version COMMENT 'SHA-256 of what the policy said when the statement ran',
  changed_result COMMENT 'Whether it could change what this user saw; null where nobody can tell'
) COMMENT 'Policies in force: one row for each query, object, column and policy' AS
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, c.columnName, c.columnId,
  p.policyKind, p.policyName, p.policyId, p.policyVersion, p.changedResult
FROM {schema}.access_history
LATERAL VIEW explode(policies_referenced) AS o
LATERAL VIEW explode(concat(coalesce(o.columns, array()), array(named_struct(
  'columnId', CAST(NULL AS BIGINT), 'columnName', CAST(NULL AS STRING), 'policies', o.policies)))) AS c
LATERAL VIEW explode(c.policies) AS p
