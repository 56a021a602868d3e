-- Which columns were read, by whom, in which statement? One row for each query, object and column that it read;
-- column_name is null where a query reads no column of an object (count(*), a procedure). An object that a query names
-- has is_direct, one below it (the table under a view) has is_base; a table that is named is both.
-- Example:
--   SELECT user_name, column_name, count(*) AS statements
--   FROM account_usage.columns_read
--   WHERE query_date >= current_date() - 7 AND object_name = 'spark_catalog.clean.flights'
--   GROUP BY user_name, column_name
--   ORDER BY statements DESC
CREATE OR REPLACE VIEW {schema}.columns_read (
  query_id COMMENT 'Identifier of the statement',
  query_start_time COMMENT 'When it started (UTC)',
  query_date COMMENT 'The day (UTC): the partition of access_history',
  user_name COMMENT 'Who issued it',
  object_domain COMMENT 'Table, VIEW, STAGE, FUNCTION, PROCEDURE, ...',
  object_name COMMENT 'catalog.schema.object, or the location of a stage',
  object_id COMMENT 'Survives a rename',
  column_name COMMENT 'The column; null where no column was read',
  column_id COMMENT 'Survives a rename where the table maps its columns',
  is_direct COMMENT 'The statement names the object',
  is_base COMMENT 'The object holds the data'
) COMMENT 'Reads: one row for each query, object and column' AS
-- <spark>
-- An object is looked up in the other list of its record: `is_same` says that it stands there just so, else `twin` is
-- its entry there, if any. A GROUP BY of all rows takes Spark three times as long.
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, c.columnName, c.columnId, is_direct,
  NOT is_direct OR is_same OR (twin IS NOT NULL AND if(c IS NULL, coalesce(size(twin.columns), 0) <= 0,
    coalesce(array_contains(twin.columns, c), false))) AS is_base
FROM (
  SELECT query_id, query_start_time, query_date, user_name, o, is_direct, is_same,
    CASE WHEN NOT is_same THEN element_at(others, CAST(nullif(array_position(
      arrays_zip(others.objectDomain, others.objectName, others.objectId),
      struct(o.objectDomain, o.objectName, o.objectId)), 0) AS INT)) END AS twin
  FROM (
    SELECT query_id, query_start_time, query_date, user_name, o, is_direct, others,
      coalesce(array_contains(others, o), false) AS is_same
    FROM (
      SELECT query_id, query_start_time, query_date, user_name, o, is_direct,
        if(is_direct, base_objects_accessed, direct_objects_accessed) AS others
      FROM {schema}.access_history
      LATERAL VIEW explode(array(true, false)) AS is_direct
      LATERAL VIEW explode(if(is_direct, direct_objects_accessed, base_objects_accessed)) AS o
    )
  )
)
-- The columns of an object. Those of a base object that are direct ones, too, have their row there.
LATERAL VIEW explode(CASE
  WHEN is_direct OR (twin IS NULL AND NOT is_same) THEN if(size(o.columns) > 0, o.columns, array(NULL))
  WHEN is_same THEN NULL
  WHEN size(o.columns) > 0 THEN array_except(o.columns, coalesce(twin.columns, array()))
  WHEN size(twin.columns) > 0 THEN array(NULL) END) AS c
-- </spark>
-- <duckdb>
SELECT query_id, query_start_time, query_date, user_name,
  object_domain, object_name, object_id, c.columnName, c.columnId,
  bool_or(read_kind = 'direct') AS is_direct, bool_or(read_kind = 'base') AS is_base
FROM {schema}.objects_read
LATERAL VIEW OUTER explode(columns) AS c
GROUP BY ALL
-- </duckdb>
