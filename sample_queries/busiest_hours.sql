-- When is most asked, by how many users, how long does it take, and how much of it fails?
-- Reads account_usage.aggregate_query_history.
-- Theme: use and cost
-- :days = 30   how far back
-- :top = 20    how many hours
SELECT interval_start_time, sum(calls) AS statements, count(DISTINCT user_name) AS users, sum(failed) AS failed,
  sum(denied) AS denied, sum(total_elapsed_time.sum) AS milliseconds,
  coalesce(sum(bytes_scanned.sum), 0) AS bytes_scanned
FROM account_usage.aggregate_query_history
WHERE query_date >= current_date() - :days
GROUP BY interval_start_time
ORDER BY statements DESC, interval_start_time
LIMIT :top
