-- What did a user read for the first time? One row for each user and object: the first read in the history that is
-- kept. A WHERE on its time leaves out rows, yet all days are read: which read is the first, the earlier days say.
CREATE OR REPLACE VIEW {schema}.first_time_access (
  query_id COMMENT 'The statement of the first read',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'Its day (UTC)',
  user_name COMMENT 'Who read',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage, as it was named then',
  object_id COMMENT 'Survives a rename',
  is_direct COMMENT 'The statement names the object; otherwise it is below a view',
  previous_read_time COMMENT 'When the user had read anything before (UTC); null for the first read of all',
  days_since_previous_read COMMENT 'Days (UTC) from that read to this one; null for the first read of all'
) COMMENT 'First reads: one row for each user and object' AS
SELECT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id, is_direct,
  previous_read_time, datediff(query_date, previous_read_date) AS days_since_previous_read
FROM (
  SELECT r.query_id, r.query_start_time, r.query_date, r.user_name, r.object_domain, r.object_name, r.object_id,
    r.read_kind = 'direct' AS is_direct, p.previous_read_time, p.previous_read_date,
    row_number() OVER (
      PARTITION BY r.user_name, r.object_id
      ORDER BY r.query_start_time, r.query_id, r.read_kind DESC) AS number
  FROM {schema}.objects_read r
  JOIN (
    SELECT query_id, query_start_time,
      lag(query_start_time) OVER (PARTITION BY user_name ORDER BY query_start_time, query_id) AS previous_read_time,
      lag(query_date) OVER (PARTITION BY user_name ORDER BY query_start_time, query_id) AS previous_read_date
    FROM {schema}.access_history
    WHERE coalesce(size(direct_objects_accessed), 0) > 0 OR coalesce(size(base_objects_accessed), 0) > 0
  ) p ON p.query_id = r.query_id AND p.query_start_time = r.query_start_time
)
WHERE number = 1
