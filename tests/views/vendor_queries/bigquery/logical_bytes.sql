-- https://cloud.google.com/bigquery/docs/information-schema-table-storage (Examples: total logical bytes)
-- Changed: the name of the view.
SELECT sum(total_logical_bytes) AS total_logical_bytes
FROM account_usage.table_storage
