-- Which columns were written, and what were they made of? One row for each query, column that it wrote and column that
-- this came from. source_kind is `direct` for what the statement names (a view's column, say) and `base` for the column
-- of the table below it. The source is null for constants and counts, the column too where a statement writes whole
-- rows (DELETE).
-- Example:
--   SELECT DISTINCT column_name, source_object_name, source_column_name
--   FROM account_usage.columns_written
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights' AND source_kind = 'base'
CREATE OR REPLACE VIEW {schema}.columns_written (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  object_domain COMMENT 'Table or STAGE',
  object_name COMMENT 'What was written: catalog.schema.object, or a location',
  object_id COMMENT 'Survives a rename',
  column_name COMMENT 'The column written',
  column_id COMMENT 'Survives a rename where the table maps its columns',
  source_kind COMMENT 'direct or base; null where there is no source',
  source_object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  source_object_name COMMENT 'Where the value came from, or the function that made it',
  source_object_id COMMENT 'Survives a rename',
  source_column_name COMMENT 'The column that the value came from; null for a function'
) COMMENT 'Writes: one row for each query, column written and source' AS
SELECT query_id, query_start_time, query_date, user_name, o.objectDomain, o.objectName, o.objectId,
  c.columnName, c.columnId,
  if(s IS NULL, NULL, kind) AS source_kind, s.objectDomain, s.objectName, s.objectId, s.columnName
FROM {schema}.access_history
LATERAL VIEW explode(objects_modified) AS o
LATERAL VIEW OUTER explode(o.columns) AS c
LATERAL VIEW explode(array('direct', 'base')) AS kind
LATERAL VIEW OUTER explode(if(kind = 'direct', c.directSources, c.baseSources)) AS s
WHERE s IS NOT NULL
  OR (kind = 'direct' AND coalesce(size(c.directSources), 0) + coalesce(size(c.baseSources), 0) = 0)
