-- Which privileges on tables, views and schemas has nobody used in the last 90 days who has them?
-- Reads account_usage.dormant_privileges, which begins at 30 days. A privilege that is younger than that is left out.
-- Theme: privileges
-- :days = 90   for how long nobody has used it: 30 or more
SELECT granted_to, grantee_name, privilege, granted_on, object_name, created_on, users, last_used, days_unused
FROM account_usage.dormant_privileges
WHERE days_unused >= :days
ORDER BY granted_to, grantee_name, object_name, privilege
