-- Which statements, alike but for their literals, took most time and read most bytes, and who issued them?
-- Reads account_usage.statements.
-- Theme: use and cost
-- :days = 30   how far back
-- :top = 20    how many
SELECT coalesce(query_parameterized_hash, query_id) AS query_parameterized_hash, CAST(sum(calls) AS BIGINT) AS statements,
  sum(total_elapsed_time) AS milliseconds, coalesce(sum(bytes_scanned), 0) AS bytes_scanned,
  coalesce(sum(rows_produced), 0) AS rows_produced, array_join(sort_array(collect_set(user_name)), ', ') AS users,
  min(query_text) AS query_text
FROM account_usage.statements
WHERE start_time >= current_timestamp() - make_dt_interval(:days) AND query_type <> 'GAP'
GROUP BY coalesce(query_parameterized_hash, query_id)
ORDER BY milliseconds DESC, query_parameterized_hash
LIMIT :top
