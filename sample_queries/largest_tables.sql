-- Which tables take most space with their Time Travel, and when were they read last?
-- Reads account_usage.table_storage, which is as an attached session has measured it last, and
-- account_usage.objects_read.
-- Theme: use and cost
-- :top = 20   how many
WITH read AS (
  SELECT lower(object_name) AS object_name, max(query_start_time) AS last_read, count(DISTINCT user_name) AS readers
  FROM account_usage.objects_read
  GROUP BY lower(object_name)
)
SELECT concat_ws('.', s.table_catalog, s.table_schema, s.table_name) AS object_name, s.total_rows,
  s.current_physical_bytes, s.time_travel_physical_bytes, s.fail_safe_physical_bytes, r.last_read,
  coalesce(r.readers, 0) AS readers
FROM account_usage.table_storage s
LEFT JOIN read r ON r.object_name = lower(concat_ws('.', s.table_catalog, s.table_schema, s.table_name))
WHERE NOT s.deleted
ORDER BY s.billable_physical_bytes DESC, object_name
LIMIT :top
