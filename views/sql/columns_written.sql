-- One row for each query, column that it wrote and column that this came from. source_kind is `direct`
-- for what the statement names (a view's column, say) and `base` for the column of the table below it.
-- The source is null for constants and counts, the column too where a statement writes whole rows (DELETE).
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
  source_object_domain COMMENT 'Table, VIEW, STAGE, ...',
  source_object_name COMMENT 'Where the value came from',
  source_object_id COMMENT 'Survives a rename',
  source_column_name COMMENT 'The column that the value came from'
) COMMENT 'Writes: one row for each query, column written and source' AS
WITH written AS (
  SELECT query_id, query_start_time, query_date, user_name, o.objectDomain, o.objectName, o.objectId,
    c.columnName, c.columnId,
    concat(
      transform(coalesce(c.directSources, array()), s -> struct('direct' AS kind, s AS source)),
      transform(coalesce(c.baseSources, array()), s -> struct('base' AS kind, s AS source))) AS sources
  FROM {schema}.access_history
  LATERAL VIEW explode(objects_modified) AS o
  LATERAL VIEW OUTER explode(o.columns) AS c
)
SELECT query_id, query_start_time, query_date, user_name, objectDomain, objectName, objectId, columnName,
  columnId, s.kind, s.source.objectDomain, s.source.objectName, s.source.objectId, s.source.columnName
FROM written LATERAL VIEW OUTER explode(sources) AS s
