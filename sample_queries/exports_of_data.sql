-- What left the tables for files, by whom, of which tables, how much and where to?
-- Reads account_usage.exports.
-- Theme: changes
-- :days = 30   how far back
SELECT query_start_time, user_name, role_name, query_type, location, array_join(sources, ', ') AS sources,
  array_join(columns, ', ') AS columns, rows_produced, bytes_written, purpose, query_text
FROM account_usage.exports
WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY query_start_time DESC, location
