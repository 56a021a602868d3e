-- Which columns has nobody read in the history that is kept, of tables that are read and of those that are not?
-- Reads account_usage.unused_columns, which is as an attached session has measured it last.
-- Theme: use and cost
-- :schema_name = '%'   a pattern of LIKE for the catalog and the schema
SELECT object_name, count(*) AS unused_columns,
  array_join(sort_array(collect_list(column_name)), ', ') AS columns, max(table_last_read) AS table_last_read,
  max(history_begins) AS history_begins
FROM account_usage.unused_columns
WHERE last_read IS NULL AND object_name LIKE concat(:schema_name, '.%')
GROUP BY object_name
ORDER BY object_name
