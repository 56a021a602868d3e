-- Who reads what, and how much, over all the history that is kept? One row for each user and object. All days are read:
-- for some of them sum up top_readers. Rows and bytes are those of whole statements, and count for each object that
-- these read.
-- Example:
--   SELECT user_name, statements, first_read, last_read
--   FROM account_usage.top_readers_of_all_days
--   WHERE object_name = 'spark_catalog.clean.flights'
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.top_readers_of_all_days (
  query_date COMMENT 'The day of the last read (UTC)',
  user_name COMMENT 'Who read',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage; an object that was renamed has a row for each name',
  object_id COMMENT 'Survives a rename',
  statements COMMENT 'Statements that read it, by name or through a view',
  rows_produced COMMENT 'Rows that these returned or wrote, where Spark knows them',
  bytes_scanned COMMENT 'Bytes of the files that these read, where Spark knows them',
  first_read COMMENT 'When the first one started (UTC)',
  last_read COMMENT 'When the last one started (UTC)'
) COMMENT 'Readers: one row for each user and object' AS
SELECT max(query_date) AS query_date, user_name, object_domain, object_name, object_id,
  CAST(sum(statements) AS BIGINT) AS statements, CAST(sum(rows_produced) AS BIGINT) AS rows_produced,
  CAST(sum(bytes_scanned) AS BIGINT) AS bytes_scanned, min(first_read) AS first_read, max(last_read) AS last_read
FROM (
  SELECT query_date, user_name, object_domain, object_name, object_id, statements, rows_produced, bytes_scanned,
    first_read, last_read
  FROM {schema}.top_readers
  WHERE {unfinished}
  -- <finished_top_readers_of_all_days>
  UNION ALL
  SELECT /*+ BROADCAST(k) */ f.query_date, f.user_name, f.object_domain, f.object_name, f.object_id, f.statements,
    f.rows_produced, f.bytes_scanned, f.first_read, f.last_read
  FROM {schema}.finished_top_readers_of_all_days f
  LEFT SEMI JOIN (SELECT DISTINCT user_name, object_name FROM {schema}.top_readers WHERE {unfinished}) k
    ON k.user_name <=> f.user_name AND k.object_name <=> f.object_name
  WHERE f.as_of = {newest}
  -- </finished_top_readers_of_all_days>
)
GROUP BY user_name, object_domain, object_name, object_id
-- <finished_top_readers_of_all_days>
UNION ALL
-- What was not read since then has its row there.
SELECT /*+ BROADCAST(k) */ f.query_date, f.user_name, f.object_domain, f.object_name, f.object_id, f.statements,
  f.rows_produced, f.bytes_scanned, f.first_read, f.last_read
FROM {schema}.finished_top_readers_of_all_days f
LEFT ANTI JOIN (SELECT DISTINCT user_name, object_name FROM {schema}.top_readers WHERE {unfinished}) k
  ON k.user_name <=> f.user_name AND k.object_name <=> f.object_name
WHERE f.as_of = {newest}
-- </finished_top_readers_of_all_days>
