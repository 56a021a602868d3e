-- Which policies stood between users and an object, and whom did they show the real values?
-- Reads account_usage.policies_in_force.
-- Theme: policies and tags
-- :object_name = 'spark_catalog.clean.flights'   the full name of a table or view
-- :days = 30                                     how far back
SELECT user_name, column_name, policy_kind, policy_name, count(DISTINCT policy_version) AS versions,
  count(DISTINCT query_id) AS queries,
  count(DISTINCT query_id) FILTER (WHERE NOT changed_result) AS queries_shown_all,
  max(query_start_time) AS last_read
FROM account_usage.policies_in_force
WHERE object_name = :object_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY user_name, column_name, policy_kind, policy_name
ORDER BY user_name, column_name NULLS FIRST, policy_name
