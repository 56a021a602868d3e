-- What is the work done for, by purpose and tag, and how much of it states none?
-- Reads account_usage.statements.
-- Theme: origin and purpose
-- :days = 30   how far back
SELECT coalesce(purpose, 'none') AS purpose, coalesce(query_tag, 'none') AS query_tag, CAST(sum(calls) AS BIGINT) AS statements,
  count(DISTINCT user_name) AS users, CAST(sum(if(reads_data, calls, 0)) AS BIGINT) AS reads, count_if(writes_data) AS writes,
  sum(total_elapsed_time) AS milliseconds
FROM account_usage.statements
WHERE start_time >= current_timestamp() - make_dt_interval(:days) AND query_type <> 'GAP'
GROUP BY purpose, query_tag
ORDER BY statements DESC, purpose, query_tag
