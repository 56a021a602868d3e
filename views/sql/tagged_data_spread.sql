-- Where did tagged data go? One row for each statement, column that it made of a tagged column, and tag that is there
-- now: on the column itself, or on its table or view. Tags of schemas are left out: the sample query columns_of_tag has
-- them. A copy of a copy is a row of its own where the first copy is tagged, too.
-- Example:
--   SELECT tag_name, source_object_name, target_object_name, target_is_tagged, count(*) AS statements
--   FROM account_usage.tagged_data_spread
--   WHERE query_date >= current_date() - 7
--   GROUP BY tag_name, source_object_name, target_object_name, target_is_tagged
CREATE OR REPLACE VIEW {schema}.tagged_data_spread (
  query_id COMMENT 'The statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of column_lineage',
  user_name COMMENT 'Who issued it',
  query_type COMMENT 'INSERT, CREATE_TABLE_AS_SELECT, UNLOAD, ...',
  tag_name COMMENT 'catalog.schema.tag',
  tag_value COMMENT 'The value',
  tagged_by COMMENT 'COLUMN, TABLE or VIEW: what the tag is on',
  tagged_on COMMENT 'Since when it is there (UTC)',
  source_object_name COMMENT 'The tagged table or view',
  source_object_id COMMENT 'As objectId in access_history; survives a rename',
  source_column_name COMMENT 'The tagged column',
  target_object_name COMMENT 'What was made: a table or view, or the location of files',
  target_object_id COMMENT 'As objectId in access_history; survives a rename',
  target_object_domain COMMENT 'Table, VIEW, STAGE, ...',
  target_column_name COMMENT 'The column that was made',
  transformation COMMENT 'IDENTITY (cast or not), TRANSFORMATION or AGGREGATION',
  target_is_tagged COMMENT 'The target column, or its table or view, has the same tag now'
) COMMENT 'Columns made of tagged columns: one row for each statement, target column, source column and tag' AS
SELECT DISTINCT l.query_id, l.query_start_time, l.query_date, l.user_name, l.query_type,
  concat_ws('.', t.tag_database, t.tag_schema, t.tag_name) AS tag_name, t.tag_value, t.domain AS tagged_by,
  t.created_on AS tagged_on, l.source_object_name, l.source_object_id, l.source_column_name, l.target_object_name,
  l.target_object_id, l.target_object_domain, l.target_column_name, l.transformation,
  own.tag_id IS NOT NULL AS target_is_tagged
FROM {schema}.column_lineage l
JOIN {schema}.tag_references t
  ON t.object_id = l.source_object_id AND (t.domain <> 'COLUMN' OR t.column_id = l.source_column_id)
LEFT JOIN {schema}.tag_references own
  ON own.object_id = l.target_object_id AND own.tag_id = t.tag_id AND own.deleted_on IS NULL
    AND (own.domain <> 'COLUMN' OR own.column_id = l.target_column_id)
WHERE t.deleted_on IS NULL AND NOT l.is_indirect AND l.target_column_name IS NOT NULL
  AND l.source_column_name IS NOT NULL
