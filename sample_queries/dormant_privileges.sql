-- Which privileges on tables, views and schemas has nobody used in the last 90 days who has them?
-- Reads account_usage.grants_to_roles, account_usage.grants_to_users, account_usage.users, account_usage.objects_read
-- and account_usage.access_history. Who reads uses SELECT, who writes any other one, and both use USAGE. A privilege
-- that is younger than that is left out.
-- Theme: privileges
-- :days = 90   for how long nobody has used it
WITH RECURSIVE held (user_name, role, path) AS (
  SELECT user_name, role, array(role)
  FROM (SELECT grantee_name AS user_name, role FROM account_usage.grants_to_users WHERE deleted_on IS NULL
        UNION ALL SELECT name, 'PUBLIC' FROM account_usage.users)
  UNION ALL
  SELECT h.user_name, g.name, array_append(h.path, g.name)
  FROM held h
  JOIN account_usage.grants_to_roles g
    ON g.grantee_name = h.role AND g.granted_to = 'ROLE' AND g.granted_on = 'ROLE' AND g.deleted_on IS NULL
  WHERE NOT array_contains(h.path, g.name)
), holder AS (
  SELECT DISTINCT user_name, 'ROLE' AS kind, role AS name FROM held
  UNION ALL
  SELECT name, 'USER', name FROM account_usage.users
), used AS (
  SELECT user_name, object_id, object_name, TRUE AS is_read, max(query_start_time) AS last_used
  FROM account_usage.objects_read
  GROUP BY user_name, object_id, object_name
  UNION ALL
  SELECT user_name, o.objectId, o.objectName, FALSE, max(query_start_time)
  FROM account_usage.access_history LATERAL VIEW explode(objects_modified) AS o
  GROUP BY user_name, o.objectId, o.objectName
), granted AS (
  SELECT privilege, granted_on, concat_ws('.', table_catalog, table_schema, name) AS object_name, object_id,
    granted_to, grantee_name, created_on
  FROM account_usage.grants_to_roles
  WHERE deleted_on IS NULL AND granted_on IN ('TABLE', 'VIEW', 'SCHEMA') AND privilege <> 'OWNERSHIP'
    AND created_on <= current_timestamp() - make_dt_interval(:days)
)
SELECT g.granted_to, g.grantee_name, g.privilege, g.granted_on, g.object_name, g.created_on,
  count(DISTINCT h.user_name) AS users, max(u.last_used) AS last_used
FROM granted g
LEFT JOIN holder h ON h.kind = g.granted_to AND h.name = g.grantee_name
LEFT JOIN used u ON u.user_name = h.user_name AND (g.privilege = 'USAGE' OR u.is_read = (g.privilege = 'SELECT'))
  AND (u.object_id = g.object_id
       OR (g.granted_on = 'SCHEMA' AND startswith(lower(u.object_name), concat(lower(g.object_name), '.'))))
GROUP BY g.granted_to, g.grantee_name, g.privilege, g.granted_on, g.object_name, g.created_on
HAVING max(u.last_used) IS NULL OR max(u.last_used) < current_timestamp() - make_dt_interval(:days)
ORDER BY g.granted_to, g.grantee_name, g.object_name, g.privilege
