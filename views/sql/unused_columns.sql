-- Which columns of tables has nobody read, by name or through a view? One row for each column of what is there that
-- nobody has read in the history that is kept, or not for 30 days. All days are read.
-- Example:
--   SELECT object_name, column_name, data_type, last_read, table_last_read
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
  last_read COMMENT 'When the column was read last (UTC); null for never',
  days_unread COMMENT 'Whole days since then; since the history began or the table was made, where nobody has read it',
  table_last_read COMMENT 'When the table was read last, another column or its rows alone (UTC); null for never',
  history_begins COMMENT 'The oldest statement in the history that is kept (UTC)',
  measured_at COMMENT 'When the column was found (UTC); it still was there when a text last named a view of the catalog'
) COMMENT 'Columns of tables that nobody has read, or not for 30 days' AS
WITH column_reads AS (
  SELECT object_id, lower(column_name) AS column_name, max(last_read) AS last_read
  FROM {schema}.columns_last_read
  GROUP BY object_id, lower(column_name)
), unread AS (
  SELECT t.object_name, c.table_id, c.column_name, c.column_id, c.data_type, c.ordinal_position,
    t.created AS table_created, r.last_read,
    CAST((unix_micros(current_timestamp()) - unix_micros(coalesce(r.last_read, greatest(t.created, h.history_begins))))
      DIV 86400000000 AS INT) AS days_unread,
    u.last_read AS table_last_read, h.history_begins, c.measured_at
  FROM {schema}.columns c
  JOIN {schema}.catalog_tables t ON t.object_id = c.table_id AND t.object_domain IN ('Table', 'EXTERNAL TABLE') AND t.deleted IS NULL
  CROSS JOIN (
    SELECT min(start_time) AS history_begins FROM {schema}.query_history
    WHERE query_date = (SELECT min(query_date) FROM {schema}.query_history)
  ) h
  LEFT JOIN column_reads r ON r.object_id = c.table_id AND r.column_name = lower(c.column_name)
  LEFT JOIN (SELECT object_id, max(last_read) AS last_read FROM column_reads GROUP BY object_id) u
    ON u.object_id = c.table_id
)
SELECT object_name, table_id, column_name, column_id, data_type, ordinal_position, table_created, last_read,
  days_unread, table_last_read, history_begins, measured_at
FROM unread
WHERE last_read IS NULL OR days_unread >= 30
