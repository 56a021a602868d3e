-- https://docs.databricks.com/en/admin/system-tables/lineage (Column lineage table)
-- The page documents the columns; its example is rows, not a text. Changed: the dots of system.access.column_lineage.
-- :full_name = 'main.mart.delays'   the table
-- :column_name = 'delay'            the column
SELECT source_table_full_name, source_type, source_column_name, created_by, max(event_time) AS last_written
FROM account_usage.system_access_column_lineage
WHERE target_table_full_name = :full_name AND target_column_name = :column_name
  AND event_date >= current_date() - 30
GROUP BY source_table_full_name, source_type, source_column_name, created_by
