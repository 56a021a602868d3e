-- Who has read an object lately for the first time, or again after 30 days or more without a read?
-- Reads account_usage.first_time_access.
-- Theme: reads
-- :days = 7   how far back
SELECT query_start_time, user_name, object_domain, object_name, if(is_direct, 'by name', 'through a view') AS how,
  days_since_previous_read
FROM account_usage.first_time_access
WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY query_start_time DESC, user_name, object_name
