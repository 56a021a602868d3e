-- Which columns have the tables and views of the catalog, of which types? One row for each column of what is there.
-- Example:
--   SELECT table_schema, table_name, column_name, data_type
--   FROM account_usage.columns
--   WHERE lower(column_name) LIKE '%name%'
--   ORDER BY table_schema, table_name, ordinal_position
CREATE OR REPLACE VIEW {schema}.columns (
  column_id COMMENT 'As columnId in access_history; survives a rename where the table maps its columns',
  column_name COMMENT 'The name',
  table_id COMMENT 'As objectId in access_history; survives a rename where it is a Delta table',
  table_name COMMENT 'The table or view',
  table_schema COMMENT 'Its schema',
  table_catalog COMMENT 'Its catalog',
  ordinal_position COMMENT 'The place in the table, from 1',
  column_default COMMENT 'The expression of its DEFAULT; null for none',
  is_nullable COMMENT 'YES or NO: whether it takes NULL',
  data_type COMMENT 'The type, as DESCRIBE shows it',
  numeric_precision COMMENT 'Of a DECIMAL: its digits',
  numeric_scale COMMENT 'Of a DECIMAL: its digits behind the point',
  comment COMMENT 'Of the column',
  measured_at COMMENT 'When this was found so (UTC); it still was when a text last named a view of the catalog'
) COMMENT 'Columns of tables and views' AS
SELECT attribute.column_id, attribute.column_name, attribute.table_id, attribute.table_name, attribute.table_schema,
  attribute.table_catalog, attribute.ordinal_position, attribute.column_default, attribute.is_nullable,
  attribute.data_type, attribute.numeric_precision, attribute.numeric_scale, attribute.comment, measured_at
FROM {schema}.object_catalog
WHERE kind = 'ATTRIBUTE'
