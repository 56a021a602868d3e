-- Which tables and views belong to the administrators, since nobody was granted them and no creation is on record?
-- Reads account_usage.objects_without_owner, which is as an attached session has measured it last.
-- Theme: privileges
SELECT object_name, object_domain, owner_in_catalog, created, location
FROM account_usage.objects_without_owner
ORDER BY object_name
