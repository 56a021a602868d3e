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
    PARTITION BY object_domain, thing, subject ORDER BY query_start_time, query_id) AS properties_before,
  query_text,
  lag(query_text) OVER (
    PARTITION BY object_domain, thing, subject ORDER BY query_start_time, query_id) AS query_text_before,
  lag(query_start_time) OVER (
    PARTITION BY object_domain, thing, subject ORDER BY query_start_time, query_id) AS changed_before,
  lag(user_name) OVER (
    PARTITION BY object_domain, thing, subject ORDER BY query_start_time, query_id) AS changed_before_by
FROM (
  SELECT /*+ BROADCAST(d) */ d.query_id, d.query_start_time, d.query_date, d.user_name, q.role_name, q.query_type,
    d.operation_type, d.object_domain, d.object_name, d.properties, q.query_text,
    coalesce(CAST(d.object_id AS STRING), d.object_name) AS thing,
    CASE
      WHEN get_json_object(d.properties, '$.grantee.value') IS NOT NULL
        THEN concat_ws(' ', get_json_object(d.properties, '$.to.value'),
          get_json_object(d.properties, '$.grantee.value'), get_json_object(d.properties, '$.privileges.value'))
      WHEN d.object_domain IN ('MASKING POLICY', 'ROW ACCESS POLICY', 'TAG', 'ROLE') THEN ''
      ELSE regexp_replace(
        d.properties, ',?"(tagValue":[{]"value":"[^"]*"[}]|subOperationType":"[A-Z]+"|value":[0-9]+),?', '')
    END AS subject
  FROM (
    SELECT query_id, query_start_time, query_date, user_name, object_modified_by_ddl.operationType AS operation_type,
      object_modified_by_ddl.objectDomain AS object_domain, object_modified_by_ddl.objectName AS object_name,
      object_modified_by_ddl.objectId AS object_id, object_modified_by_ddl.properties AS properties
    FROM {schema}.access_history
    WHERE object_modified_by_ddl.objectDomain IS NOT NULL AND (
      object_modified_by_ddl.objectDomain IN ('MASKING POLICY', 'ROW ACCESS POLICY', 'TAG', 'ROLE')
      OR get_json_object(object_modified_by_ddl.properties, '$.grantee.value') IS NOT NULL
      OR object_modified_by_ddl.properties RLIKE '"(tags|maskingPolicies|rowAccessPolicies)":[{]')
  ) d
  JOIN {schema}.query_history q
    ON q.query_id = d.query_id AND q.start_time = d.query_start_time AND q.query_date = d.query_date
)
