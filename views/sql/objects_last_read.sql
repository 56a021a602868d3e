-- When has each user read each object last? One row for each user and object of the history that is kept. All days are
-- read.
-- Example:
--   SELECT user_name, last_read
--   FROM account_usage.objects_last_read
--   WHERE object_name = 'spark_catalog.clean.flights'
--   ORDER BY last_read DESC
CREATE OR REPLACE VIEW {schema}.objects_last_read (
  query_date COMMENT 'The day of the last read (UTC)',
  user_name COMMENT 'Who read',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage, as the last read has it',
  object_id COMMENT 'Survives a rename',
  last_read COMMENT 'When the last statement started that read it, by name or through a view (UTC)'
) COMMENT 'The last read of each object by each user' AS
SELECT query_date, user_name, newest.object_domain, newest.object_name, object_id, newest.last_read
FROM (
  SELECT max(query_date) AS query_date, user_name, object_id,
    max(named_struct('last_read', last_read, 'object_name', object_name, 'object_domain', object_domain)) AS newest
  FROM (
    SELECT query_date, user_name, object_domain, object_name, object_id, last_read
    FROM {schema}.top_readers
    WHERE {unfinished}
    -- <finished_objects_last_read>
    UNION ALL
    SELECT query_date, user_name, object_domain, object_name, object_id, last_read
    FROM {schema}.finished_objects_last_read
    WHERE as_of = {newest}
    -- </finished_objects_last_read>
  )
  GROUP BY user_name, object_id, if(object_id IS NULL, object_name, NULL)
)
