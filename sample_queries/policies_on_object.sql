-- Which policies are on a table or view and its columns, today or some days ago, and what do they say?
-- Reads account_usage.policy_references, account_usage.masking_policies and account_usage.row_access_policies. The
-- body is the last one of the policy.
-- Theme: policies and tags
-- :object_name = 'spark_catalog.clean.flights'   the full name of a table, view or schema
-- :days_ago = 0                                  at which moment; 0 is now
WITH policy AS (
  SELECT policy_id, policy_signature, policy_body FROM account_usage.masking_policies
  UNION ALL
  SELECT policy_id, policy_signature, policy_body FROM account_usage.row_access_policies
)
SELECT r.ref_column_name AS column_name, r.policy_kind,
  concat_ws('.', r.policy_db, r.policy_schema, r.policy_name) AS policy_name,
  array_join(r.ref_arg_column_names, ', ') AS arguments,
  concat_ws('.', r.tag_database, r.tag_schema, r.tag_name) AS through_tag, r.created_on, p.policy_signature,
  p.policy_body
FROM account_usage.policy_references r
LEFT JOIN policy p ON p.policy_id = r.policy_id
WHERE concat_ws('.', r.ref_database_name, r.ref_schema_name, r.ref_entity_name) = :object_name
  AND r.created_on <= current_timestamp() - make_dt_interval(:days_ago)
  AND (r.deleted_on IS NULL OR r.deleted_on > current_timestamp() - make_dt_interval(:days_ago))
ORDER BY column_name NULLS FIRST, policy_name, through_tag
