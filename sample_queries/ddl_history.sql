-- What was created, altered, replaced or dropped lately, by whom?
-- Reads account_usage.ddl_history.
-- Theme: changes
-- :object_name = '%'   a pattern of LIKE for the full name
-- :days = 30           how far back
SELECT query_start_time, user_name, operation_type, object_domain, object_name,
  array_join(map_keys(from_json(get_json_object(properties, '$.columns'), 'map<string,string>')), ', ') AS columns,
  get_json_object(properties, '$.objectName.value') AS new_name, query_text
FROM account_usage.ddl_history
WHERE object_name LIKE :object_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY query_start_time DESC, object_name
