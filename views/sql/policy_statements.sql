-- Which statements changed protection? One row for each statement that changed a policy, a tag, a role or a grant.
-- policy_changes has them beside the statement before about the same thing.
-- Example:
--   SELECT query_start_time, user_name, query_type, object_name, query_text
--   FROM account_usage.policy_statements
--   WHERE query_date >= current_date() - 7 AND object_domain = 'MASKING POLICY'
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.policy_statements (
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
) COMMENT 'Statements that changed a policy, a tag, a role or a grant' AS
SELECT /*+ BROADCAST(d) */ d.query_id, d.query_start_time, d.query_date, d.user_name, q.role_name, q.query_type,
  d.operation_type, d.object_domain, d.object_name,
  coalesce(CAST(d.object_id AS STRING), d.object_name) AS object_key,
  CASE
    WHEN get_json_object(d.properties, '$.grantee.value') IS NOT NULL
      THEN concat_ws(' ', get_json_object(d.properties, '$.to.value'),
        get_json_object(d.properties, '$.grantee.value'), get_json_object(d.properties, '$.privileges.value'))
    WHEN d.object_domain IN ('MASKING POLICY', 'ROW ACCESS POLICY', 'TAG', 'ROLE') THEN ''
    ELSE regexp_replace(
      d.properties, ',?"(tagValue":[{]"value":"[^"]*"[}]|subOperationType":"[A-Z]+"|value":[0-9]+),?', '')
  END AS part_key,
  d.properties, q.query_text
FROM (
  SELECT query_id, query_start_time, query_date, user_name, object_modified_by_ddl.operationType AS operation_type,
    object_modified_by_ddl.objectDomain AS object_domain, object_modified_by_ddl.objectName AS object_name,
    object_modified_by_ddl.objectId AS object_id, object_modified_by_ddl.properties AS properties
  FROM {schema}.access_history
  WHERE object_modified_by_ddl.objectDomain IS NOT NULL AND {unfinished} AND (
    object_modified_by_ddl.objectDomain IN ('MASKING POLICY', 'ROW ACCESS POLICY', 'TAG', 'ROLE')
    OR get_json_object(object_modified_by_ddl.properties, '$.grantee.value') IS NOT NULL
    OR object_modified_by_ddl.properties RLIKE '"(tags|maskingPolicies|rowAccessPolicies)":[{]')
) d
JOIN (
  SELECT query_id, start_time, query_date, role_name, query_type, query_text
  FROM {schema}.query_history
  WHERE {unfinished}
) q
  ON q.query_id = d.query_id AND q.start_time = d.query_start_time AND q.query_date = d.query_date
-- <finished_policy_statements>
UNION ALL
SELECT query_id, query_start_time, query_date, user_name, role_name, query_type, operation_type, object_domain,
  object_name, object_key, part_key, properties, query_text
FROM {schema}.finished_policy_statements
WHERE query_date <= {newest} AND query_id IS NOT NULL
-- </finished_policy_statements>
