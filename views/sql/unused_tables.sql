-- Which tables and views has nobody read, and how large are they? One row for each that is there and that nobody has
-- read in the history that is kept, by name or through a view, or not for 30 days. A view that only other views read is
-- here: a record names what the statement names and the tables below, not the views between. All days are read.
-- Example:
--   SELECT object_name, last_read, days_unread, bytes
--   FROM account_usage.unused_tables
--   ORDER BY bytes DESC
CREATE OR REPLACE VIEW {schema}.unused_tables (
  object_name COMMENT 'catalog.schema.object',
  object_domain COMMENT 'Table or VIEW',
  object_id COMMENT 'As objectId in access_history; survives a rename where it is a Delta table',
  owner COMMENT 'The role or user of GRANT OWNERSHIP, else who made it, as the catalog says',
  created COMMENT 'When it was made (UTC)',
  last_read COMMENT 'When it was read last (UTC); null for never',
  days_unread COMMENT 'Whole days since then; since the history began or it was made, where nobody has read it',
  last_altered COMMENT 'Of a Delta table: its newest version (UTC)',
  bytes COMMENT 'Of a Delta table: bytes that a scan of it opens',
  measured_at COMMENT 'When it was found (UTC); it still was there when a text last named a view of the catalog'
) COMMENT 'Tables and views that nobody has read, or not for 30 days' AS
WITH unread AS (
  SELECT c.object_name, c.object_domain, c.object_id, c.owner, c.created, r.last_read, t.last_altered, t.bytes,
    c.measured_at,
    CAST((unix_micros(current_timestamp()) - unix_micros(coalesce(r.last_read, greatest(c.created, h.history_begins))))
      DIV 86400000000 AS INT) AS days_unread
  FROM {schema}.catalog_tables c
  CROSS JOIN (
    SELECT min(start_time) AS history_begins FROM {schema}.query_history
    WHERE query_date = (SELECT min(query_date) FROM {schema}.query_history)
  ) h
  LEFT JOIN (
    SELECT object_id, max(last_read) AS last_read FROM {schema}.objects_last_read GROUP BY object_id
  ) r ON r.object_id = c.object_id
  LEFT JOIN {schema}.tables t
    ON t.table_id = c.object_id AND lower(t.table_name) = lower(c.table_name)
    AND lower(t.table_schema) = lower(c.schema_name) AND t.deleted IS NULL
  WHERE c.deleted IS NULL
)
SELECT object_name, object_domain, object_id, owner, created, last_read, days_unread, last_altered, bytes, measured_at
FROM unread
WHERE last_read IS NULL OR days_unread >= 30
