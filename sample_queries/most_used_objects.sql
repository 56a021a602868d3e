-- Which tables and views are used most, and by how many people?
-- Reads account_usage.access_history.
-- :days = 30    how far back
-- :top = 20     how many
SELECT o.objectName AS object_name, o.objectDomain AS object_domain, count(DISTINCT query_id) AS queries,
  count(DISTINCT user_name) AS users, max(query_start_time) AS last_read
FROM account_usage.access_history
LATERAL VIEW explode(array(true, false)) AS direct
LATERAL VIEW explode(if(direct, direct_objects_accessed, base_objects_accessed)) AS o
WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY o.objectName, o.objectDomain
ORDER BY queries DESC, object_name
LIMIT :top
