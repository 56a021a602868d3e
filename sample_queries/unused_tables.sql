-- Which tables and views did nobody read in the last 90 days, by name or through a view, and how large are they?
-- Reads account_usage.unused_tables, which begins at 30 days and is as an attached session has measured it last.
-- What nobody has read at all is there, too, however young it is.
-- Theme: use and cost
-- :days = 90   for how long nobody has read it: 30 or more
SELECT object_name, object_domain, owner, created, last_read, days_unread, last_altered, bytes
FROM account_usage.unused_tables
WHERE last_read IS NULL OR days_unread >= :days
ORDER BY bytes DESC NULLS LAST, object_name
