-- What was created, altered or dropped, by whom? One row for each DDL operation that changed something; `properties` is
-- JSON text that get_json_object and from_json read.
-- Example:
--   SELECT query_start_time, user_name, operation_type, object_name
--   FROM account_usage.ddl_history
--   WHERE query_date >= current_date() - 7 AND object_domain = 'Table'
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.ddl_history (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  operation_type COMMENT 'CREATE, ALTER, DROP, REPLACE or UNDROP',
  object_domain COMMENT 'Table, VIEW, SCHEMA, ...',
  object_name COMMENT 'catalog.schema.object, as it was named before the operation',
  object_id COMMENT 'Survives a rename',
  properties COMMENT 'JSON: columns with their subOperationType, a new name, a comment, ...',
  query_text COMMENT 'The statement'
) COMMENT 'DDL: one row for each operation' AS
SELECT a.query_id, a.query_start_time, a.query_date, a.user_name, d.operationType, d.objectDomain,
  d.objectName, d.objectId, d.properties, q.query_text
FROM (SELECT *, object_modified_by_ddl AS d FROM {schema}.access_history
      WHERE object_modified_by_ddl IS NOT NULL) a
LEFT JOIN {schema}.query_history q
  ON q.query_id = a.query_id AND q.start_time = a.query_start_time AND q.query_date = a.query_date
