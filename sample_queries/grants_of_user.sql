-- Which privileges has a user, by name or through roles, today or some days ago?
-- Reads account_usage.grants_to_users and account_usage.grants_to_roles. PUBLIC, which everybody has, is among the
-- roles; who is an administrator by configuration may do everything without a row here.
-- Theme: privileges
-- :user_name = 'bob'   as in query_history
-- :days_ago = 0        at which moment; 0 is now
WITH RECURSIVE held (role, path) AS (
  SELECT role, array(role)
  FROM (SELECT role, created_on, deleted_on FROM account_usage.grants_to_users WHERE grantee_name = :user_name
        UNION ALL SELECT 'PUBLIC', CAST('1970-01-01' AS TIMESTAMP), NULL)
  WHERE created_on <= current_timestamp() - make_dt_interval(:days_ago)
    AND (deleted_on IS NULL OR deleted_on > current_timestamp() - make_dt_interval(:days_ago))
  UNION ALL
  SELECT g.name, array_append(h.path, g.name)
  FROM held h
  JOIN account_usage.grants_to_roles g
    ON g.grantee_name = h.role AND g.granted_to = 'ROLE' AND g.granted_on = 'ROLE'
  WHERE NOT array_contains(h.path, g.name)
    AND g.created_on <= current_timestamp() - make_dt_interval(:days_ago)
    AND (g.deleted_on IS NULL OR g.deleted_on > current_timestamp() - make_dt_interval(:days_ago))
), holder (kind, name, through) AS (
  SELECT 'ROLE', role, array_join(path, ' > ') FROM held
  UNION ALL
  SELECT 'USER', :user_name, 'by name'
)
SELECT g.privilege, g.granted_on, concat_ws('.', g.table_catalog, g.table_schema, g.name) AS object_name, h.through,
  g.grant_option, g.granted_by, g.created_on
FROM holder h
JOIN account_usage.grants_to_roles g ON g.granted_to = h.kind AND g.grantee_name = h.name
WHERE g.granted_on <> 'ROLE'
  AND g.created_on <= current_timestamp() - make_dt_interval(:days_ago)
  AND (g.deleted_on IS NULL OR g.deleted_on > current_timestamp() - make_dt_interval(:days_ago))
ORDER BY object_name, g.privilege, h.through
