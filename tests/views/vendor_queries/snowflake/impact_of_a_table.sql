-- https://docs.snowflake.com/en/user-guide/object-dependencies (Impact analysis)
-- Changed: the schema; the name of the table is a parameter.
-- :table_name = 'flights'   the table that is to change
WITH RECURSIVE referenced_cte (
  object_name_path, referenced_object_name, referenced_object_domain, referencing_object_domain,
  referencing_object_name, referenced_object_id, referencing_object_id
) AS (
  SELECT referenced_object_name || '-->' || referencing_object_name AS object_name_path, referenced_object_name,
    referenced_object_domain, referencing_object_domain, referencing_object_name, referenced_object_id,
    referencing_object_id
  FROM account_usage.object_dependencies referencing
  WHERE true AND referenced_object_name = :table_name AND referenced_object_domain = 'TABLE'
  UNION ALL
  SELECT object_name_path || '-->' || referencing.referencing_object_name, referencing.referenced_object_name,
    referencing.referenced_object_domain, referencing.referencing_object_domain, referencing.referencing_object_name,
    referencing.referenced_object_id, referencing.referencing_object_id
  FROM account_usage.object_dependencies referencing
  JOIN referenced_cte ON referencing.referenced_object_id = referenced_cte.referencing_object_id
    AND referencing.referenced_object_domain = referenced_cte.referencing_object_domain
)
SELECT object_name_path, referenced_object_name, referenced_object_domain, referencing_object_name,
  referencing_object_domain
FROM referenced_cte
