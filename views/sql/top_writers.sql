-- Who writes what, and who changes what is there? One row for each day, user and object, so that any period can be
-- summed. Rows and bytes are those of whole statements, and count for each object that these write. A statement that
-- makes a table and fills it counts as a write and as a change of a definition.
-- Example:
--   SELECT user_name, sum(writes) AS writes, sum(definition_changes) AS definition_changes, max(last_write) AS last_write
--   FROM account_usage.top_writers
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights'
--   GROUP BY user_name
--   ORDER BY writes DESC
CREATE OR REPLACE VIEW {schema}.top_writers (
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who wrote',
  object_domain COMMENT 'Table, VIEW, SCHEMA, STAGE, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage; an object that was renamed has a row for each name',
  object_id COMMENT 'Survives a rename',
  writes COMMENT 'Statements that wrote rows of it, or deleted some',
  definition_changes COMMENT 'Statements that created, altered, dropped, replaced or brought it back: the rows of ddl_history',
  rows_written COMMENT 'Rows that the writes wrote, where Spark knows them',
  bytes_written COMMENT 'Bytes of the files that the writes wrote, where Spark knows them',
  first_write COMMENT 'When the first statement started (UTC)',
  last_write COMMENT 'When the last statement started (UTC)',
  first_query_id COMMENT 'The first statement'
) COMMENT 'Writers: one row for each day, user and object' AS
SELECT w.query_date, w.user_name, w.object_domain, w.object_name, w.object_id,
  CAST(sum(if(w.is_write, coalesce(q.calls, 1), 0)) AS BIGINT) AS writes,
  CAST(sum(if(w.is_change, coalesce(q.calls, 1), 0)) AS BIGINT) AS definition_changes,
  CAST(coalesce(sum(if(w.is_write, q.rows_produced, 0)), 0) AS BIGINT) AS rows_written,
  CAST(coalesce(sum(if(w.is_write, q.bytes_written, 0)), 0) AS BIGINT) AS bytes_written,
  min(w.query_start_time) AS first_write, max(w.query_start_time) AS last_write,
  min(named_struct('at', w.query_start_time, 'query_id', w.query_id)).query_id AS first_query_id
FROM (
  SELECT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id,
    bool_or(is_write) AS is_write, bool_or(NOT is_write) AS is_change
  FROM (
    SELECT query_id, query_start_time, query_date, user_name, o.objectDomain AS object_domain,
      o.objectName AS object_name, o.objectId AS object_id, true AS is_write
    FROM {schema}.access_history LATERAL VIEW explode(objects_modified) AS o
    WHERE {unfinished}
    UNION ALL
    SELECT query_id, query_start_time, query_date, user_name, object_modified_by_ddl.objectDomain,
      object_modified_by_ddl.objectName, object_modified_by_ddl.objectId, false
    FROM {schema}.access_history
    WHERE object_modified_by_ddl IS NOT NULL AND {unfinished}
  )
  GROUP BY query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id
) w
LEFT JOIN (
  SELECT query_id, start_time, query_date, calls, rows_produced, bytes_written
  FROM {schema}.query_history
  WHERE {unfinished}
) q
  ON q.query_id = w.query_id AND q.start_time = w.query_start_time AND q.query_date = w.query_date
GROUP BY w.query_date, w.user_name, w.object_domain, w.object_name, w.object_id
-- <finished_writes>
UNION ALL
SELECT query_date, user_name, object_domain, object_name, object_id, writes, definition_changes, rows_written,
  bytes_written, first_write, last_write, first_query_id
FROM {schema}.finished_writes
WHERE query_date <= {newest} AND writes IS NOT NULL
-- </finished_writes>
