-- How did policies, tags, roles and grants change, and what was said before?
-- Reads account_usage.policy_changes.
-- Theme: policies and tags
-- :object_name = '%'   a pattern of LIKE for the policy, tag, role or protected object
-- :days = 30           how far back
SELECT query_start_time, user_name, role_name, query_type, object_domain, object_name, query_text, query_text_before,
  changed_before, changed_before_by
FROM account_usage.policy_changes
WHERE object_name LIKE :object_name AND query_start_time >= current_timestamp() - make_dt_interval(:days)
ORDER BY query_start_time DESC, object_name
