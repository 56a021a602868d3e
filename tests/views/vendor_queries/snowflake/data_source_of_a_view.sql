-- https://docs.snowflake.com/en/user-guide/object-dependencies (Data source of a view)
-- Changed: the schema; the name of the view is a parameter.
-- :view_name = 'punctuality'   the view whose sources are asked for
WITH RECURSIVE referenced_cte (
  object_name_path, referenced_object_name, referenced_object_domain, referencing_object_domain,
  referencing_object_name, referenced_object_id, referencing_object_id
) AS (
  SELECT referenced_object_name || '<--' || referencing_object_name AS object_name_path, referenced_object_name,
    referenced_object_domain, referencing_object_domain, referencing_object_name, referenced_object_id,
    referencing_object_id
  FROM account_usage.object_dependencies referencing
  WHERE true AND referencing_object_name = :view_name AND referencing_object_domain = 'VIEW'
  UNION ALL
  SELECT referencing.referenced_object_name || '<--' || object_name_path, referencing.referenced_object_name,
    referencing.referenced_object_domain, referencing.referencing_object_domain, referencing.referencing_object_name,
    referencing.referenced_object_id, referencing.referencing_object_id
  FROM account_usage.object_dependencies referencing
  JOIN referenced_cte ON referencing.referencing_object_id = referenced_cte.referenced_object_id
    AND referencing.referencing_object_domain = referenced_cte.referenced_object_domain
)
SELECT object_name_path, referencing_object_name, referencing_object_domain, referenced_object_name,
  referenced_object_domain
FROM referenced_cte
