-- Which tables and views are used most, and by how many people?
-- Reads account_usage.objects_read.
-- Theme: use and cost
-- :days = 30    how far back
-- :top = 20     how many
SELECT object_name, object_domain, count(DISTINCT query_id) AS queries,
  count(DISTINCT user_name) AS users, max(query_start_time) AS last_read
FROM account_usage.objects_read
WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY object_name, object_domain
ORDER BY queries DESC, object_name
LIMIT :top
