-- Who reads what, and how much? One row for each day, user and object, so that any period can be summed: days are the
-- distinct query_date. Rows and bytes are those of whole statements, and count for each object that these read.
-- Example:
--   SELECT user_name, sum(statements) AS statements, max(last_read) AS last_read
--   FROM account_usage.top_readers
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights'
--   GROUP BY user_name
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.top_readers (
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who read',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage; an object that was renamed has a row for each name',
  object_id COMMENT 'Survives a rename',
  statements COMMENT 'Statements that read it, by name or through a view',
  rows_produced COMMENT 'Rows that these returned or wrote, where Spark knows them',
  bytes_scanned COMMENT 'Bytes of the files that these read, where Spark knows them',
  first_read COMMENT 'When the first one started (UTC)',
  last_read COMMENT 'When the last one started (UTC)',
  first_query_id COMMENT 'The first one',
  first_is_direct COMMENT 'The first one names the object; otherwise it is below a view',
  columns COMMENT 'The names of the columns that they read, each once; empty where they read none'
) COMMENT 'Readers: one row for each day, user and object' AS
SELECT r.query_date, r.user_name, r.object_domain, r.object_name, r.object_id,
  CAST(sum(coalesce(q.calls, 1)) AS BIGINT) AS statements,
  CAST(coalesce(sum(q.rows_produced), 0) AS BIGINT) AS rows_produced,
  CAST(coalesce(sum(q.bytes_scanned), 0) AS BIGINT) AS bytes_scanned,
  min(r.query_start_time) AS first_read, max(r.query_start_time) AS last_read,
  min(named_struct('at', r.query_start_time, 'query_id', r.query_id)).query_id AS first_query_id,
  min(named_struct('at', r.query_start_time, 'query_id', r.query_id, 'is_direct', r.is_direct)).is_direct
    AS first_is_direct,
  sort_array(array_distinct(flatten(collect_set(r.columns)))) AS columns
FROM (
  -- <spark>
  -- Not by objects_read, which looks twice at access_history: Delta looks its files up for each.
  SELECT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id,
    bool_or(is_direct) AS is_direct, flatten(collect_set(columns)) AS columns
  FROM (
    SELECT query_id, query_start_time, query_date, user_name, o.objectDomain AS object_domain,
      o.objectName AS object_name, o.objectId AS object_id, is_direct, o.columns.columnName AS columns
    FROM {schema}.access_history
    LATERAL VIEW explode(array(true, false)) AS is_direct
    LATERAL VIEW explode(if(is_direct, direct_objects_accessed, base_objects_accessed)) AS o
  )
  -- </spark>
  -- <duckdb>
  SELECT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id,
    bool_or(read_kind = 'direct') AS is_direct,
    flatten(collect_set(transform(columns, c -> c.columnName))) AS columns
  FROM {schema}.objects_read
  -- </duckdb>
  WHERE {unfinished}
  GROUP BY query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id
) r
LEFT JOIN (
  SELECT query_id, start_time, query_date, calls, rows_produced, bytes_scanned
  FROM {schema}.query_history
  WHERE {unfinished}
) q
  ON q.query_id = r.query_id AND q.start_time = r.query_start_time AND q.query_date = r.query_date
GROUP BY r.query_date, r.user_name, r.object_domain, r.object_name, r.object_id
-- <finished_reads>
UNION ALL
SELECT query_date, user_name, object_domain, object_name, object_id, statements, rows_produced, bytes_scanned,
  first_read, last_read, first_query_id, first_is_direct, columns
FROM {schema}.finished_reads
WHERE query_date <= {newest} AND statements IS NOT NULL
-- </finished_reads>
