-- Which columns of tables has nobody read in the history that is kept, by name or through a view? One row for each
-- column of what is there. All days are read.
-- Example:
--   SELECT object_name, column_name, data_type, table_last_read
--   FROM account_usage.unused_columns
--   ORDER BY object_name, ordinal_position
CREATE OR REPLACE VIEW {schema}.unused_columns (
  object_name COMMENT 'catalog.schema.table',
  table_id COMMENT 'As objectId in access_history',
  column_name COMMENT 'The column',
  column_id COMMENT 'As columnId in access_history',
  data_type COMMENT 'The type, as DESCRIBE shows it',
  ordinal_position COMMENT 'The place in the table, from 1',
  table_created COMMENT 'When the table was made (UTC)',
  table_last_read COMMENT 'When another column of the table, or its rows, were read last (UTC); null for never',
  history_begins COMMENT 'The oldest statement in the history that is kept (UTC)',
  measured_at COMMENT 'When the column was found (UTC); it still was there when a text last named a view of the catalog'
) COMMENT 'Columns of tables that nobody has read' AS
SELECT t.object_name, c.table_id, c.column_name, c.column_id, c.data_type, c.ordinal_position,
  t.created AS table_created, u.last_read AS table_last_read, h.history_begins, c.measured_at
FROM {schema}.columns c
JOIN {schema}.catalog_tables t ON t.object_id = c.table_id AND t.object_domain = 'Table' AND t.deleted IS NULL
CROSS JOIN (
  SELECT min(start_time) AS history_begins FROM {schema}.query_history
  WHERE query_date = (SELECT min(query_date) FROM {schema}.query_history)
) h
LEFT JOIN (
  SELECT object_id, max(last_read) AS last_read,
    transform(array_distinct(flatten(collect_set(columns))), c -> lower(c)) AS columns
  FROM {schema}.top_readers
  GROUP BY object_id
) u ON u.object_id = c.table_id
WHERE u.object_id IS NULL OR NOT array_contains(u.columns, lower(c.column_name))
