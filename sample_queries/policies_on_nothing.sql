-- Which policies protect nothing today, and did they ever?
-- Reads account_usage.masking_policies, account_usage.row_access_policies and account_usage.policy_references.
-- Theme: policies and tags
WITH policy AS (
  SELECT 'MASKING_POLICY' AS policy_kind, policy_id, policy_name, policy_schema, policy_catalog, policy_owner, created
  FROM account_usage.masking_policies WHERE deleted IS NULL
  UNION ALL
  SELECT 'ROW_ACCESS_POLICY', policy_id, policy_name, policy_schema, policy_catalog, policy_owner, created
  FROM account_usage.row_access_policies WHERE deleted IS NULL
)
SELECT p.policy_kind, concat_ws('.', p.policy_catalog, p.policy_schema, p.policy_name) AS policy_name, p.policy_owner,
  p.created, max(r.deleted_on) AS last_in_force
FROM policy p
LEFT JOIN account_usage.policy_references r ON r.policy_id = p.policy_id
GROUP BY p.policy_kind, p.policy_catalog, p.policy_schema, p.policy_name, p.policy_owner, p.created
HAVING count(r.policy_id) = count(r.deleted_on)
ORDER BY p.policy_kind, policy_name
