-- When was each column read last? One row for each column, and one without a column for each object of which rows alone
-- were read (`count(*)`), of the history that is kept. All days are read.
-- Example:
--   SELECT column_name, last_read
--   FROM account_usage.columns_last_read
--   WHERE object_name = 'spark_catalog.clean.flights'
--   ORDER BY last_read
CREATE OR REPLACE VIEW {schema}.columns_last_read (
  query_date COMMENT 'The day of the last read (UTC)',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage, as the last read has it',
  object_id COMMENT 'Survives a rename',
  column_name COMMENT 'The column; null where rows alone were read',
  last_read COMMENT 'When the last statement started that read it, by name or through a view (UTC)'
) COMMENT 'The last read of each column' AS
SELECT query_date, newest.object_domain, newest.object_name, object_id, column_name, newest.last_read
FROM (
  SELECT max(query_date) AS query_date, object_id, column_name,
    max(named_struct('last_read', last_read, 'object_name', object_name, 'object_domain', object_domain)) AS newest
  FROM (
    SELECT query_date, object_domain, object_name, object_id, column_name, last_read
    FROM {schema}.top_readers LATERAL VIEW OUTER explode(columns) AS column_name
    WHERE {unfinished}
    -- <finished_columns_last_read>
    UNION ALL
    SELECT query_date, object_domain, object_name, object_id, column_name, last_read
    FROM {schema}.finished_columns_last_read
    WHERE as_of = {newest}
    -- </finished_columns_last_read>
  )
  GROUP BY object_id, if(object_id IS NULL, object_name, NULL), column_name
)
