-- Which accesses repeat? One row for each hour, kind of statement, user and set of objects that it read and wrote:
-- statements that differ in white space, comments and literals only are one kind (query_parameterized_hash). In Spark a
-- WHERE on query_date leaves out the files of other days; DuckDB leaves them out by interval_start_time, too.
-- Example:
--   SELECT interval_start_time, user_name, calls, base_objects_accessed.objectName AS objects
--   FROM account_usage.aggregate_access_history
--   WHERE query_date >= current_date() - 7
--   ORDER BY calls DESC
CREATE OR REPLACE VIEW {schema}.aggregate_access_history (
  interval_start_time COMMENT 'When the hour begins (UTC)',
  interval_end_time COMMENT 'When it ends (UTC)',
  query_parameterized_hash COMMENT 'The same for texts that differ in white space, comments and literals; null for a DataFrame action',
  user_name COMMENT 'Who issued them',
  calls COMMENT 'Statements in the hour',
  direct_objects_accessed COMMENT 'Objects and columns that they name, as in access_history',
  base_objects_accessed COMMENT 'Objects and columns below views, as in access_history',
  objects_modified COMMENT 'Objects written, with the sources of each column, as in access_history',
  object_modified_by_ddl COMMENT 'The DDL operation, as in access_history',
  policies_referenced COMMENT 'Policies in force on what was accessed, as in access_history',
  rows_produced COMMENT 'Rows returned or written by all of them, where Spark knows them',
  total_elapsed_time COMMENT 'Milliseconds of all of them',
  query_date COMMENT 'The day (UTC): the partition of access_history'
) COMMENT 'Accesses by the hour: one row for each kind of statement, user and set of objects' AS
SELECT interval_start_time, timestamp_micros(unix_micros(interval_start_time) + 3600000000) AS interval_end_time,
  query_parameterized_hash, user_name, CAST(sum(coalesce(calls, 1)) AS BIGINT) AS calls, direct_objects_accessed,
  base_objects_accessed, objects_modified, object_modified_by_ddl, policies_referenced,
  CAST(sum(rows_produced) AS BIGINT) AS rows_produced, CAST(sum(total_elapsed_time) AS BIGINT) AS total_elapsed_time,
  query_date
FROM (
  SELECT a.*, timestamp_micros(unix_micros(a.query_start_time) DIV 3600000000 * 3600000000) AS interval_start_time,
    q.query_parameterized_hash, q.rows_produced, q.total_elapsed_time, q.calls
  FROM {schema}.access_history a
  LEFT JOIN {schema}.query_history q
    ON q.query_id = a.query_id AND q.start_time = a.query_start_time AND q.query_date = a.query_date
)
GROUP BY interval_start_time, query_date, query_parameterized_hash, user_name, direct_objects_accessed,
  base_objects_accessed, objects_modified, object_modified_by_ddl, policies_referenced
