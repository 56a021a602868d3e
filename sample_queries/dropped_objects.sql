-- What was dropped, by whom and when, and can it be brought back?
-- Reads account_usage.ddl_history, and account_usage.catalog_tables, which is as an attached session has measured it
-- last. Tables and views alone are in the latter.
-- Theme: changes
-- :days = 30   how far back
SELECT d.query_start_time, d.user_name, d.object_domain, d.object_name, d.query_text,
  bool_or(c.deleted IS NOT NULL) AS can_come_back
FROM account_usage.ddl_history d
LEFT JOIN account_usage.catalog_tables c ON lower(c.object_name) = lower(d.object_name) AND c.deleted IS NOT NULL
WHERE d.operation_type = 'DROP' AND d.query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY d.query_id, d.query_start_time, d.user_name, d.object_domain, d.object_name, d.query_text
ORDER BY d.query_start_time DESC, d.object_name
