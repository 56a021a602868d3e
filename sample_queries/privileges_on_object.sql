-- Who may do what with an object, by which role, user or schema, today or some days ago?
-- Reads account_usage.grants_to_roles. Who has a role is told by the sample query members_of_role.
-- Theme: privileges
-- :object_name = 'spark_catalog.clean.flights'   the full name of a table, view or schema
-- :days_ago = 0                                  at which moment; 0 is now
SELECT privilege, granted_on, concat_ws('.', table_catalog, table_schema, name) AS object_name, granted_to,
  grantee_name, grant_option, granted_by, created_on
FROM account_usage.grants_to_roles
WHERE granted_on <> 'ROLE'
  AND (lower(concat_ws('.', table_catalog, table_schema, name)) = lower(:object_name)
       OR (granted_on = 'SCHEMA' AND startswith(
         lower(:object_name), concat(lower(concat_ws('.', table_catalog, table_schema, name)), '.'))))
  AND created_on <= current_timestamp() - make_dt_interval(:days_ago)
  AND (deleted_on IS NULL OR deleted_on > current_timestamp() - make_dt_interval(:days_ago))
ORDER BY granted_on, privilege, granted_to, grantee_name
