-- Who reads what, and how much? One row for each day, user and object, so that any period can be summed: days are the
-- distinct query_date. Rows and bytes are those of whole statements, and count for each object that these read.
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
  last_read COMMENT 'When the last one started (UTC)'
) COMMENT 'Readers: one row for each day, user and object' AS
SELECT r.query_date, r.user_name, r.object_domain, r.object_name, r.object_id,
  CAST(sum(coalesce(q.calls, 1)) AS BIGINT) AS statements,
  coalesce(sum(q.rows_produced), 0) AS rows_produced, coalesce(sum(q.bytes_scanned), 0) AS bytes_scanned,
  min(r.query_start_time) AS first_read, max(r.query_start_time) AS last_read
FROM (
  SELECT DISTINCT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id
  FROM {schema}.objects_read
) r
LEFT JOIN {schema}.query_history q
  ON q.query_id = r.query_id AND q.start_time = r.query_start_time AND q.query_date = r.query_date
GROUP BY r.query_date, r.user_name, r.object_domain, r.object_name, r.object_id
