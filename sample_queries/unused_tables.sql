-- Which tables did nobody read in the last 90 days, by name or through a view?
-- A view that only other views read shows here, since a record names what the statement named and the
-- tables below, not the views between.
-- Reads account_usage.catalog_tables, which is as an attached session has measured it last,
-- account_usage.top_readers and account_usage.access_history.
-- Theme: use and cost
-- :days = 90   how far back
WITH read AS (
  SELECT lower(object_name) AS object_name, max(last_read) AS last_read
  FROM account_usage.top_readers
  GROUP BY 1
), written AS (
  SELECT lower(o.objectName) AS object_name, max(query_start_time) AS last_written,
    max_by(user_name, query_start_time) AS written_by
  FROM account_usage.access_history LATERAL VIEW explode(objects_modified) AS o
  GROUP BY 1
)
SELECT c.object_name, c.object_domain, r.last_read, w.last_written, w.written_by
FROM account_usage.catalog_tables c
LEFT JOIN read r ON r.object_name = lower(c.object_name)
LEFT JOIN written w ON w.object_name = lower(c.object_name)
WHERE c.deleted IS NULL
  AND (r.last_read IS NULL OR r.last_read < current_timestamp() - make_dt_interval(:days))
ORDER BY c.object_name
