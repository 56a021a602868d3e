-- Which users have a role, by GRANT or through other roles, and since when?
-- Reads account_usage.roles, account_usage.grants_to_users and account_usage.grants_to_roles.
-- Theme: privileges
-- :role_name = 'READERS'   the role, in upper case
WITH RECURSIVE holder (role, path) AS (
  SELECT name, array(name) FROM account_usage.roles WHERE name = :role_name AND deleted_on IS NULL
  UNION ALL
  SELECT g.grantee_name, array_append(h.path, g.grantee_name)
  FROM holder h
  JOIN account_usage.grants_to_roles g
    ON g.name = h.role AND g.granted_on = 'ROLE' AND g.granted_to = 'ROLE' AND g.deleted_on IS NULL
  WHERE NOT array_contains(h.path, g.grantee_name)
)
SELECT u.grantee_name AS user_name, array_join(h.path, ' < ') AS through, u.granted_by, u.created_on
FROM holder h
JOIN account_usage.grants_to_users u ON u.role = h.role AND u.deleted_on IS NULL
ORDER BY user_name, through
