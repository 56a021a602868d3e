-- Who reads most, in statements, rows, bytes and days, by user and object?
-- Reads account_usage.top_readers. Rows and bytes are those of whole statements.
-- Theme: reads
-- :days = 30   how far back
-- :top = 20    how many
SELECT user_name, object_name, sum(statements) AS statements, sum(rows_produced) AS rows_produced,
  sum(bytes_scanned) AS bytes_scanned, count(DISTINCT query_date) AS days, max(last_read) AS last_read
FROM account_usage.top_readers
WHERE query_date >= current_date() - :days
GROUP BY user_name, object_name
ORDER BY statements DESC, rows_produced DESC, user_name, object_name
LIMIT :top
