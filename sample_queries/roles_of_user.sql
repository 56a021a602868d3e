-- Which roles has a user, by GRANT or through other roles, today or some days ago, and since when?
-- Reads account_usage.grants_to_users and account_usage.grants_to_roles. Everybody has PUBLIC as well. Roles that a
-- program gives a session (`as_user`) stand in place of these: account_usage.query_history has them in role_name.
-- Theme: privileges
-- :user_name = 'bob'   as in query_history
-- :days_ago = 0        at which moment; 0 is now
WITH RECURSIVE held (role, path, granted_by, created_on) AS (
  SELECT role, array(role), granted_by, created_on
  FROM account_usage.grants_to_users
  WHERE grantee_name = :user_name
    AND created_on <= current_timestamp() - make_dt_interval(:days_ago)
    AND (deleted_on IS NULL OR deleted_on > current_timestamp() - make_dt_interval(:days_ago))
  UNION ALL
  SELECT g.name, array_append(h.path, g.name), g.granted_by, g.created_on
  FROM held h
  JOIN account_usage.grants_to_roles g
    ON g.grantee_name = h.role AND g.granted_to = 'ROLE' AND g.granted_on = 'ROLE'
  WHERE NOT array_contains(h.path, g.name)
    AND g.created_on <= current_timestamp() - make_dt_interval(:days_ago)
    AND (g.deleted_on IS NULL OR g.deleted_on > current_timestamp() - make_dt_interval(:days_ago))
)
SELECT role, array_join(path, ' > ') AS through, granted_by, created_on
FROM held
ORDER BY role, through
