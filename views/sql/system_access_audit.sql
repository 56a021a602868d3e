-- Who did what, as Unity Catalog shows it? Unity Catalog's system.access.audit: its columns, in its order. One row for
-- each event: each statement (commandSubmit), each table or view that it reads (getTable) or writes
-- (generateTemporaryTableCredential), also where it failed or was denied (getTable), each object that it makes, changes
-- or drops (createTable, updateTables, deleteTable, createSchema, ...), each GRANT and REVOKE (updatePermissions). What
-- Unity Catalog has as a map is a struct here: both engines read a field by a dot.
-- Example:
--   SELECT event_time, user_identity.email, action_name, request_params.full_name_arg
--   FROM account_usage.system_access_audit
--   WHERE event_date >= current_date() - 7 AND action_name = 'createTable'
--   ORDER BY event_time DESC
CREATE OR REPLACE VIEW {schema}.system_access_audit (
  version COMMENT 'NULL: events have no version',
  event_time COMMENT 'When the statement started (UTC)',
  event_date COMMENT 'The day (UTC)',
  workspace_id COMMENT 'NULL: there is no workspace',
  source_ip_address COMMENT 'client_address of query_history',
  user_agent COMMENT 'client_program of query_history',
  session_id COMMENT 'The Spark session',
  user_identity COMMENT 'email: user_name of query_history; subject_name is NULL',
  service_name COMMENT 'databrickssql for a statement, otherwise unityCatalog',
  action_name COMMENT 'commandSubmit, getTable, createTable, updatePermissions, ...',
  request_id COMMENT 'query_id of query_history: the events of a statement share it',
  request_params COMMENT 'full_name_arg and table_full_name, name, schema_name, catalog_name, operation of an object; commandText, commandId of a statement; securable_type, securable_full_name, changes of a GRANT',
  response COMMENT 'status_code: 200, 400 (failed) or 403 (denied), NULL while it runs or after a crash; error_message; result is NULL',
  audit_level COMMENT 'NULL: there are neither accounts nor workspaces',
  account_id COMMENT 'NULL: there is no account of Databricks',
  event_id COMMENT 'The statement, the action and the object',
  identity_metadata COMMENT 'run_by and run_as: user_name of query_history; acting_resource is NULL',
  query_date COMMENT 'Not of Unity Catalog: the day (UTC), which is the partition'
) COMMENT 'Events as Unity Catalog shows them in its audit log' AS
SELECT CAST(NULL AS STRING) AS version, event_time, query_date AS event_date, CAST(NULL AS STRING) AS workspace_id,
  client_address AS source_ip_address, client_program AS user_agent, session_id,
  named_struct('email', user_name, 'subject_name', CAST(NULL AS STRING)) AS user_identity,
  if(action_name = 'commandSubmit', 'databrickssql', 'unityCatalog') AS service_name, action_name,
  query_id AS request_id,
  named_struct(
    'full_name_arg', object_name, 'table_full_name', object_name,
    'name', nullif(regexp_extract(object_name, '^(.*[.])?(`[^`]+`|[^.`/]+)$', 2), ''),
    'schema_name', nullif(regexp_extract(object_name, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), ''),
    'catalog_name', nullif(regexp_extract(object_name, '^(`[^`]+`|[^.`/]+)[.](.+)$', 1), ''),
    'operation', CASE action_name WHEN 'getTable' THEN 'READ'
      WHEN 'generateTemporaryTableCredential' THEN 'READ_WRITE' END,
    'commandText', command_text,
    'commandId', if(action_name = 'commandSubmit', query_id, NULL),
    'securable_type', if(action_name = 'updatePermissions', upper(object_domain), NULL),
    'securable_full_name', if(action_name = 'updatePermissions', object_name, NULL),
    'changes', if(action_name = 'updatePermissions', changes, NULL)) AS request_params,
  named_struct('status_code',
    CASE execution_status WHEN 'SUCCESS' THEN 200 WHEN 'DENIED' THEN 403 WHEN 'FAIL' THEN 400 END,
    'error_message', error_message, 'result', CAST(NULL AS STRING)) AS response,
  CAST(NULL AS STRING) AS audit_level, CAST(NULL AS STRING) AS account_id,
  concat_ws('/', query_id, action_name, object_name) AS event_id,
  named_struct('run_by', user_name, 'run_as', user_name, 'acting_resource', CAST(NULL AS STRING)) AS identity_metadata,
  query_date
FROM (
  -- <spark>
  -- One look at each table where one is enough: Delta looks its files up for each.
  SELECT query_id, start_time AS event_time, query_date, user_name, session_id, client_address, client_program,
    if(object_name IS NULL, query_text, NULL) AS command_text, execution_status, error_message,
    if(object_name IS NULL, 'commandSubmit', 'getTable') AS action_name, CAST(NULL AS STRING) AS object_domain,
    object_name, CAST(NULL AS STRING) AS changes
  FROM {schema}.query_history
  LATERAL VIEW explode(concat(
    if(NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP', array(CAST(NULL AS STRING)), array()),
    if(execution_status IN ('FAIL', 'DENIED'), coalesce(objects_tried, array()), array()))) AS object_name
  -- </spark>
  -- <duckdb>
  SELECT query_id, start_time AS event_time, query_date, user_name, session_id, client_address, client_program,
    query_text AS command_text, execution_status, error_message, 'commandSubmit' AS action_name,
    CAST(NULL AS STRING) AS object_domain, CAST(NULL AS STRING) AS object_name, CAST(NULL AS STRING) AS changes
  FROM {schema}.query_history
  WHERE NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP'
  UNION ALL
  SELECT query_id, start_time, query_date, user_name, session_id, client_address, client_program,
    CAST(NULL AS STRING), execution_status, error_message, 'getTable', CAST(NULL AS STRING), object_name,
    CAST(NULL AS STRING)
  FROM {schema}.query_history
  LATERAL VIEW explode(objects_tried) AS object_name
  WHERE execution_status IN ('FAIL', 'DENIED')
  -- </duckdb>
  UNION ALL
  -- The time is that of q: where a question leaves one part of e alone, Spark infers no bound on q from one on e.
  SELECT e.query_id, q.start_time, q.query_date, e.user_name, q.session_id, q.client_address, q.client_program,
    CAST(NULL AS STRING), q.execution_status, q.error_message, e.action_name, e.object_domain, e.object_name,
    if(startswith(q.query_type, 'REVOKE'),
      to_json(array(named_struct('principal', e.grantee, 'remove', split(e.privileges, ', ?')))),
      to_json(array(named_struct('principal', e.grantee, 'add', split(e.privileges, ', ?')))))
  FROM (
    -- <spark>
    SELECT query_id, query_start_time, query_date, user_name,
      if(is_read, 'getTable', 'generateTemporaryTableCredential') AS action_name, o.domains AS object_domain,
      o.names AS object_name, CAST(NULL AS STRING) AS grantee, CAST(NULL AS STRING) AS privileges
    FROM (
      SELECT query_id, query_start_time, query_date, user_name, is_read, if(is_read, names_read, names_written) AS names,
        if(is_read, domains_read, domains_written) AS domains
      FROM (
        SELECT query_id, query_start_time, query_date, user_name,
          direct_objects_accessed.objectName AS names_read, direct_objects_accessed.objectDomain AS domains_read,
          objects_modified.objectName AS names_written, objects_modified.objectDomain AS domains_written
        FROM {schema}.access_history
      )
      LATERAL VIEW explode(array(true, false)) AS is_read
    )
    LATERAL VIEW explode(arrays_zip(names, domains)) AS o
    WHERE o.domains IN ('Table', 'EXTERNAL TABLE') OR (is_read AND o.domains = 'VIEW')
    -- </spark>
    -- <duckdb>
    SELECT query_id, query_start_time, query_date, user_name, 'getTable' AS action_name,
      o.objectDomain AS object_domain, o.objectName AS object_name, CAST(NULL AS STRING) AS grantee, CAST(NULL AS STRING) AS privileges
    FROM {schema}.access_history
    LATERAL VIEW explode(direct_objects_accessed) AS o
    WHERE o.objectDomain IN ('Table', 'EXTERNAL TABLE', 'VIEW')
    UNION ALL
    SELECT query_id, query_start_time, query_date, user_name, 'generateTemporaryTableCredential', o.objectDomain,
      o.objectName, CAST(NULL AS STRING), CAST(NULL AS STRING)
    FROM {schema}.access_history
    LATERAL VIEW explode(objects_modified) AS o
    WHERE o.objectDomain IN ('Table', 'EXTERNAL TABLE')
    -- </duckdb>
    UNION ALL
    SELECT query_id, query_start_time, query_date, user_name,
      if(grantee IS NOT NULL, 'updatePermissions', concat(
        CASE operation WHEN 'CREATE' THEN 'create' WHEN 'REPLACE' THEN 'create' WHEN 'DROP' THEN 'delete'
          WHEN 'UNDROP' THEN 'undelete' ELSE 'update' END,
        CASE domain WHEN 'Table' THEN 'Table' WHEN 'EXTERNAL TABLE' THEN 'Table' WHEN 'VIEW' THEN 'Table'
          WHEN 'SCHEMA' THEN 'Schema'
          WHEN 'FUNCTION' THEN 'Function' WHEN 'MASKING POLICY' THEN 'MaskingPolicy'
          WHEN 'ROW ACCESS POLICY' THEN 'RowAccessPolicy' WHEN 'TAG' THEN 'Tag' WHEN 'ROLE' THEN 'Role' ELSE domain END,
        if(operation = 'ALTER' AND domain IN ('Table', 'EXTERNAL TABLE', 'VIEW'), 's', ''))),
      domain, name, grantee, coalesce(privileges, 'USAGE')
    FROM (
      SELECT query_id, query_start_time, query_date, user_name, object_modified_by_ddl.operationType AS operation,
        object_modified_by_ddl.objectDomain AS domain, object_modified_by_ddl.objectName AS name,
        get_json_object(object_modified_by_ddl.properties, '$.grantee.value') AS grantee,
        get_json_object(object_modified_by_ddl.properties, '$.privileges.value') AS privileges
      FROM {schema}.access_history
      WHERE object_modified_by_ddl IS NOT NULL
    )
  ) e
  JOIN {schema}.query_history q
    ON q.query_id = e.query_id AND q.start_time = e.query_start_time AND q.query_date = e.query_date
)
