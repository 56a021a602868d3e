-- Which accesses repeat within an hour, by whom, and to which objects: a job, or somebody who copies piece by piece?
-- Reads account_usage.aggregate_access_history.
-- Theme: reads
-- :days = 30      how far back
-- :at_least = 2   how many in an hour make a row
SELECT interval_start_time, user_name, calls, rows_produced,
  array_join(transform(base_objects_accessed, o -> o.objectName), ', ') AS base_objects,
  array_join(transform(objects_modified, o -> o.objectName), ', ') AS objects_modified, query_parameterized_hash
FROM account_usage.aggregate_access_history
WHERE query_date >= current_date() - :days AND calls >= :at_least
ORDER BY calls DESC, interval_start_time, user_name, base_objects, objects_modified, query_parameterized_hash
