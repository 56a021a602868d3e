-- What was read, by whom, in which statement? One row for each query and object that it read, and twice for a table
-- that is named: once as what the statement names (direct), once as what holds the data (base). A view is direct alone,
-- a table below it base.
-- Example:
--   SELECT user_name, count(DISTINCT query_id) AS statements, max(query_start_time) AS last_read
--   FROM account_usage.objects_read
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights'
--   GROUP BY user_name
--   ORDER BY last_read DESC
CREATE OR REPLACE VIEW {schema}.objects_read (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, PROCEDURE, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage',
  object_id COMMENT 'Survives a rename',
  columns COMMENT 'The columns that it read, each with columnName and columnId; empty where it read none',
  read_kind COMMENT 'direct: the statement names the object; base: the object holds the data'
) COMMENT 'Reads: one row for each query, object and kind of read' AS
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, o.columns, 'direct' AS read_kind
FROM {schema}.access_history
LATERAL VIEW explode(direct_objects_accessed) AS o
UNION ALL
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, o.columns, 'base'
FROM {schema}.access_history
LATERAL VIEW explode(base_objects_accessed) AS o
