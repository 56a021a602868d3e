-- What is asked again and again, and what does it cost? One row for each hour, kind of statement, user, role, schema
-- and tag: statements that differ in white space, comments and literals only are one kind (query_parameterized_hash). A
-- statement without such a hash, a DataFrame action, is of one kind with the others of its type. Of statements that
-- share a row (aggregated_tables) min and max know the mean alone. In Spark a WHERE on query_date leaves out the files
-- of other days; DuckDB leaves them out by interval_start_time, too.
-- Example:
--   SELECT query_text, sum(calls) AS calls, sum(total_elapsed_time.sum) AS milliseconds
--   FROM account_usage.aggregate_query_history
--   WHERE query_date >= current_date() - 7
--   GROUP BY query_text
--   ORDER BY milliseconds DESC
CREATE OR REPLACE VIEW {schema}.aggregate_query_history (
  calls COMMENT 'Statements in the hour',
  interval_start_time COMMENT 'When the hour begins (UTC)',
  interval_end_time COMMENT 'When it ends (UTC)',
  query_parameterized_hash COMMENT 'The same for texts that differ in white space, comments and literals; null for a DataFrame action',
  query_text COMMENT 'The text of one of them',
  database_name COMMENT 'The current catalog',
  schema_name COMMENT 'The current schema',
  query_type COMMENT 'SELECT, INSERT, MERGE, ...',
  user_name COMMENT 'Who issued them',
  role_name COMMENT 'The role in force',
  query_tag COMMENT 'audit.query_tag',
  errors COMMENT 'Their errors, each once: code and message, as in query_history',
  total_elapsed_time COMMENT 'Milliseconds, of each field: sum, avg, min and max',
  bytes_scanned COMMENT 'Bytes of the files read, where Spark knows them: sum, avg, min and max',
  bytes_written COMMENT 'Bytes of the files written, where Spark knows them: sum, avg, min and max',
  rows_produced COMMENT 'Rows returned or written, where Spark knows them: sum, avg, min and max',
  failed COMMENT 'Statements that failed, were denied or are incomplete',
  denied COMMENT 'Of these: those that were denied',
  query_date COMMENT 'The day (UTC): the partition of query_history'
) COMMENT 'Statements by the hour: one row for each kind of statement, user, role, schema and tag' AS
SELECT CAST(sum(calls) AS BIGINT) AS calls, timestamp_micros(hour * 3600000000) AS interval_start_time,
  timestamp_micros((hour + 1) * 3600000000) AS interval_end_time, query_parameterized_hash,
  min(query_text) AS query_text, database_name, schema_name, query_type, user_name, role_name, query_tag,
  sort_array(collect_set(named_struct('code', error_code, 'message', error_message))
    FILTER (WHERE error_code IS NOT NULL)) AS errors,
  named_struct('sum', CAST(sum(total_elapsed_time) AS BIGINT),
    'avg', CAST(sum(total_elapsed_time) AS DOUBLE) / sum(calls) FILTER (WHERE total_elapsed_time IS NOT NULL),
    'min', min(total_elapsed_time DIV calls), 'max', max(total_elapsed_time DIV calls)) AS total_elapsed_time,
  named_struct('sum', CAST(sum(bytes_scanned) AS BIGINT),
    'avg', CAST(sum(bytes_scanned) AS DOUBLE) / sum(calls) FILTER (WHERE bytes_scanned IS NOT NULL),
    'min', min(bytes_scanned DIV calls), 'max', max(bytes_scanned DIV calls)) AS bytes_scanned,
  named_struct('sum', CAST(sum(bytes_written) AS BIGINT),
    'avg', CAST(sum(bytes_written) AS DOUBLE) / sum(calls) FILTER (WHERE bytes_written IS NOT NULL),
    'min', min(bytes_written DIV calls), 'max', max(bytes_written DIV calls)) AS bytes_written,
  named_struct('sum', CAST(sum(rows_produced) AS BIGINT),
    'avg', CAST(sum(rows_produced) AS DOUBLE) / sum(calls) FILTER (WHERE rows_produced IS NOT NULL),
    'min', min(rows_produced DIV calls), 'max', max(rows_produced DIV calls)) AS rows_produced,
  count_if(execution_status IN ('FAIL', 'DENIED', 'INCOMPLETE')) AS failed,
  count_if(execution_status = 'DENIED') AS denied, query_date
FROM (SELECT * EXCEPT (calls), coalesce(calls, 1) AS calls, unix_micros(start_time) DIV 3600000000 AS hour
      FROM {schema}.query_history
      WHERE NOT startswith(query_type, 'AUDIT_') AND query_type <> 'GAP')
GROUP BY hour, query_date, query_parameterized_hash, database_name, schema_name, query_type, user_name, role_name,
  query_tag
