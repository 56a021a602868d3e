-- Which roles has no user, neither by GRANT nor through other roles, and what may they do?
-- Reads account_usage.roles, account_usage.grants_to_users and account_usage.grants_to_roles.
-- Theme: privileges
WITH RECURSIVE held (role, path) AS (
  SELECT role, array(role) FROM account_usage.grants_to_users WHERE deleted_on IS NULL
  UNION ALL
  SELECT g.name, array_append(h.path, g.name)
  FROM held h
  JOIN account_usage.grants_to_roles g
    ON g.grantee_name = h.role AND g.granted_to = 'ROLE' AND g.granted_on = 'ROLE' AND g.deleted_on IS NULL
  WHERE NOT array_contains(h.path, g.name)
), reached AS (
  SELECT DISTINCT role FROM held
)
SELECT r.name AS role_name, r.owner, r.created_on, r.comment, count(g.privilege) AS privileges
FROM account_usage.roles r
LEFT JOIN reached h ON h.role = r.name
LEFT JOIN account_usage.grants_to_roles g
  ON g.grantee_name = r.name AND g.granted_to = 'ROLE' AND g.deleted_on IS NULL
WHERE r.deleted_on IS NULL AND h.role IS NULL AND r.name <> 'PUBLIC'
GROUP BY r.name, r.owner, r.created_on, r.comment
ORDER BY role_name
