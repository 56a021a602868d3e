-- When has each user written or changed each object last? One row for each user and object of the history that is kept. All
-- days are read.
-- Example:
--   SELECT object_name, max(last_write) AS last_write
--   FROM account_usage.objects_last_written
--   GROUP BY object_name
--   ORDER BY last_write
CREATE OR REPLACE VIEW {schema}.objects_last_written (
  query_date COMMENT 'The day of the last write (UTC)',
  user_name COMMENT 'Who wrote',
  object_domain COMMENT 'Table, VIEW, SCHEMA, STAGE, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage, as the last write has it',
  object_id COMMENT 'Survives a rename',
  last_write COMMENT 'When the last statement started that wrote it, or changed its definition (UTC)'
) COMMENT 'The last write of each object by each user' AS
SELECT query_date, user_name, newest.object_domain, newest.object_name, object_id, newest.last_write
FROM (
  SELECT max(query_date) AS query_date, user_name, object_id,
    max(named_struct('last_write', last_write, 'object_name', object_name, 'object_domain', object_domain)) AS newest
  FROM (
    SELECT query_date, user_name, object_domain, object_name, object_id, last_write
    FROM {schema}.top_writers
    WHERE {unfinished}
    -- <finished_objects_last_written>
    UNION ALL
    SELECT query_date, user_name, object_domain, object_name, object_id, last_write
    FROM {schema}.finished_objects_last_written
    WHERE as_of = {newest}
    -- </finished_objects_last_written>
  )
  GROUP BY user_name, object_id, if(object_id IS NULL, object_name, NULL)
)
