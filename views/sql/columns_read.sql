-- Which columns were read, by whom, in which statement? One row for each query, object and column that it read;
-- column_name is null where a query reads no column of an object (count(*), a procedure). An object that a query names
-- has is_direct, one below it (the table under a view) has is_base; a table that is named is both.
-- Example:
--   SELECT user_name, column_name, count(*) AS statements
--   FROM account_usage.columns_read
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights'
--   GROUP BY user_name, column_name
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.columns_read (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, PROCEDURE, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage',
  object_id COMMENT 'Survives a rename',
  column_name COMMENT 'The column; null where no column was read',
  column_id COMMENT 'Survives a rename where the table maps its columns',
  is_direct COMMENT 'The statement names the object',
  is_base COMMENT 'The object holds the data'
) COMMENT 'Reads: one row for each query, object and column' AS
SELECT query_id, query_start_time, query_date, user_name,
  object_domain, object_name, object_id, c.columnName, c.columnId,
  bool_or(read_kind = 'direct') AS is_direct, bool_or(read_kind = 'base') AS is_base
FROM {schema}.objects_read
LATERAL VIEW OUTER explode(columns) AS c
GROUP BY ALL
