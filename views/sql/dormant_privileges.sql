-- Which privileges has nobody used who has them? One row for each privilege on a table, view or schema that is granted
-- now, and was not used since then, or not for 30 days. Who reads uses SELECT, who writes or changes a definition any
-- other one, and both use USAGE; what was done before the history begins does not count. All days are read.
-- Example:
--   SELECT grantee_name, privilege, object_name, days_unused
--   FROM account_usage.dormant_privileges
--   ORDER BY days_unused DESC
CREATE OR REPLACE VIEW {schema}.dormant_privileges (
  granted_to COMMENT 'ROLE or USER',
  grantee_name COMMENT 'Who holds it',
  privilege COMMENT 'The privilege; those of the owner are left out',
  granted_on COMMENT 'TABLE, VIEW or SCHEMA',
  object_name COMMENT 'catalog.schema.object, as of the last GRANT on it',
  object_id COMMENT 'As objectId in access_history; survives a rename',
  created_on COMMENT 'Since when it is held (UTC)',
  users COMMENT 'Users who have it: by name, or by a role that they have, or that one of their roles has',
  last_used COMMENT 'When one of them used it last since then (UTC); null for never',
  days_unused COMMENT 'Whole days since then; since it is held, where nobody has used it'
) COMMENT 'Privileges that nobody has used since they were granted, or for 30 days' AS
WITH RECURSIVE reached (role, name, path) AS (
  SELECT name, name, array(name) FROM {schema}.roles WHERE deleted_on IS NULL
  UNION ALL
  SELECT r.role, g.name, array_append(r.path, g.name)
  FROM reached r
  JOIN {schema}.grants_to_roles g
    ON g.grantee_name = r.name AND g.granted_to = 'ROLE' AND g.granted_on = 'ROLE' AND g.deleted_on IS NULL
  WHERE NOT array_contains(r.path, g.name)
), member AS (
  SELECT grantee_name AS user_name, role FROM {schema}.grants_to_users WHERE deleted_on IS NULL
  UNION ALL
  SELECT user_name, 'PUBLIC' FROM {schema}.users_last_active
  UNION ALL
  SELECT DISTINCT privilege.grantee_name, 'PUBLIC'
  FROM {schema}.object_governance
  WHERE kind = 'PRIVILEGE' AND privilege.granted_to = 'USER'
), holder AS (
  SELECT DISTINCT m.user_name, r.name
  FROM member m
  JOIN reached r ON r.role = m.role
), used AS (
  SELECT user_name, object_id, true AS is_read, last_read AS last_used, object_domain, object_name
  FROM {schema}.objects_last_read
  UNION ALL
  SELECT user_name, object_id, false, last_write, object_domain, object_name
  FROM {schema}.objects_last_written
), used_schema AS (
  -- The name without its last part, which may be quoted.
  SELECT user_name, lower(if(object_domain = 'SCHEMA', object_name,
    regexp_replace(object_name, '[.](`([^`]|``)*`|[^.`]*)$', ''))) AS schema_name, is_read, max(last_used) AS last_used
  FROM used
  GROUP BY user_name, schema_name, is_read
), granted AS (
  -- Names as records write them: a part is quoted where it holds a dot or a back-tick.
  SELECT privilege, granted_on, object_id, granted_to, grantee_name, created_on,
    array_join(transform(filter(array(table_catalog, table_schema, name), p -> p IS NOT NULL),
      p -> if(contains(p, '.') OR contains(p, '`'), concat('`', replace(p, '`', '``'), '`'), p)), '.') AS object_name
  FROM {schema}.grants_to_roles
  WHERE deleted_on IS NULL AND granted_on IN ('TABLE', 'VIEW', 'SCHEMA') AND privilege <> 'OWNERSHIP'
), held_by AS (
  SELECT g.*, if(g.granted_to = 'USER', g.grantee_name, h.user_name) AS user_name
  FROM granted g
  LEFT JOIN holder h ON g.granted_to = 'ROLE' AND h.name = g.grantee_name
), aged AS (
  SELECT h.granted_to, h.grantee_name, h.privilege, h.granted_on, h.object_name, h.object_id, h.created_on,
    count(DISTINCT h.user_name) AS users, max(coalesce(u.last_used, s.last_used)) AS last_used
  FROM held_by h
  LEFT JOIN used u ON h.granted_on <> 'SCHEMA' AND u.user_name = h.user_name AND u.object_id = h.object_id
    AND u.last_used >= h.created_on AND (h.privilege = 'USAGE' OR u.is_read = (h.privilege = 'SELECT'))
  LEFT JOIN used_schema s ON h.granted_on = 'SCHEMA' AND s.user_name = h.user_name
    AND s.schema_name = lower(h.object_name)
    AND s.last_used >= h.created_on AND (h.privilege = 'USAGE' OR s.is_read = (h.privilege = 'SELECT'))
  GROUP BY h.granted_to, h.grantee_name, h.privilege, h.granted_on, h.object_name, h.object_id, h.created_on
)
SELECT granted_to, grantee_name, privilege, granted_on, object_name, object_id, created_on, users, last_used,
  CAST((unix_micros(current_timestamp()) - unix_micros(coalesce(last_used, created_on))) DIV 86400000000 AS INT)
    AS days_unused
FROM aged
WHERE last_used IS NULL OR unix_micros(current_timestamp()) - unix_micros(last_used) >= 30 * 86400000000
