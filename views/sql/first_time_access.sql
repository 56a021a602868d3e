-- Who read what he had not read before, or not for 30 days? One row for each user, object and such a read: the first
-- one of its day. For a longer time ask for days_since_previous_read, which is null where there was no read before. A
-- WHERE on the time leaves out rows, yet all days are read: which read was the one before, the earlier days say.
-- Example:
--   SELECT query_start_time, user_name, object_name, previous_read_time
--   FROM account_usage.first_time_access
--   WHERE query_date >= current_date() - 7
--   ORDER BY query_start_time DESC
CREATE OR REPLACE VIEW {schema}.first_time_access (
  query_id COMMENT 'The statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'Its day (UTC)',
  user_name COMMENT 'Who read',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage, as it was named then',
  object_id COMMENT 'Survives a rename',
  is_direct COMMENT 'The statement names the object; otherwise it is below a view',
  previous_read_time COMMENT 'When the user had read the object before (UTC); null for the first read in the history that is kept',
  days_since_previous_read COMMENT 'Days (UTC) from that read to this one, 30 or more; null for the first read'
) COMMENT 'First reads, and reads after 30 days or more without one' AS
SELECT first_query_id AS query_id, first_read AS query_start_time, query_date, user_name, object_domain, object_name,
  object_id, first_is_direct AS is_direct, previous_read_time,
  CAST(datediff(query_date, previous_read_date) AS INT) AS days_since_previous_read
FROM (
  SELECT first_query_id, first_read, query_date, user_name, object_domain, object_name, object_id, first_is_direct,
    is_before,
    lag(last_read) OVER (
      PARTITION BY user_name, object_id, if(object_id IS NULL, object_name, NULL)
      ORDER BY query_date, first_read, object_name) AS previous_read_time,
    lag(query_date) OVER (
      PARTITION BY user_name, object_id, if(object_id IS NULL, object_name, NULL)
      ORDER BY query_date, first_read, object_name) AS previous_read_date
  FROM (
    SELECT first_query_id, first_read, query_date, user_name, object_domain, object_name, object_id, first_is_direct,
      last_read, false AS is_before
    FROM {schema}.top_readers
    WHERE {unfinished}
    -- <finished_objects_last_read>
    UNION ALL
    -- Of what was read since then alone.
    SELECT /*+ BROADCAST(k) */ NULL, NULL, f.query_date, f.user_name, NULL, f.object_name, f.object_id, NULL,
      f.last_read, true
    FROM {schema}.finished_objects_last_read f
    LEFT SEMI JOIN (
      SELECT DISTINCT user_name, object_id, if(object_id IS NULL, object_name, NULL) AS object_name
      FROM {schema}.top_readers
      WHERE {unfinished}
    ) k
      ON k.user_name <=> f.user_name AND k.object_id <=> f.object_id
      AND k.object_name <=> if(f.object_id IS NULL, f.object_name, NULL)
    WHERE f.as_of = {newest}
    -- </finished_objects_last_read>
  )
)
WHERE NOT is_before AND (previous_read_date IS NULL OR datediff(query_date, previous_read_date) >= 30)
-- <finished_first_reads>
UNION ALL
SELECT query_id, query_start_time, query_date, user_name, object_domain, object_name, object_id, is_direct,
  previous_read_time, days_since_previous_read
FROM {schema}.finished_first_reads
WHERE query_date <= {newest}
-- </finished_first_reads>
