-- https://docs.snowflake.com/en/user-guide/access-history (Track masking policy references)
-- Changed: the schema; LATERAL FLATTEN is LATERAL VIEW explode, a path is a field.
SELECT DISTINCT policies.policyName AS policy_name
FROM account_usage.access_history AS ah
LATERAL VIEW explode(ah.policies_referenced) AS obj
LATERAL VIEW explode(obj.columns) AS columns
LATERAL VIEW explode(columns.policies) AS policies
