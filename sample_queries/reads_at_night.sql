-- Who reads at night or at the weekend, and what?
-- Reads account_usage.objects_read. Hours are UTC.
-- Theme: reads
-- :from_hour = 20   when the night begins
-- :to_hour = 6      when it ends
-- :days = 30        how far back
SELECT user_name, object_name, count(DISTINCT query_id) AS queries,
  count(DISTINCT query_id) FILTER (WHERE is_weekend) AS at_weekends, max(query_start_time) AS last_read
FROM (
  SELECT user_name, object_name, query_id, query_start_time,
    (unix_micros(query_start_time) DIV 3600000000) % 24 AS hour,
    datediff(query_date, DATE'1970-01-05') % 7 >= 5 AS is_weekend
  FROM account_usage.objects_read
  WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
)
WHERE hour >= :from_hour OR hour < :to_hour OR is_weekend
GROUP BY user_name, object_name
ORDER BY queries DESC, user_name, object_name
