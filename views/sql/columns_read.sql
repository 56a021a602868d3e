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
-- Where no list has a name twice, an object is looked up in the other list: a GROUP BY of all takes twice as long.
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, c.columnName, c.columnId, true AS is_direct,
  is_same OR coalesce(o.objectDomain <=> other.objectDomain AND o.objectId <=> other.objectId
    AND if(c IS NULL, coalesce(size(other.columns), 0) <= 0, array_contains(other.columns, c)), false) AS is_base
FROM (
  SELECT query_id, query_start_time, query_date, user_name, o,
    coalesce(array_contains(base_objects_accessed, o), false) AS is_same,
    if(array_contains(base_objects_accessed, o), NULL, element_at(base_objects_accessed,
      CAST(nullif(array_position(base_objects_accessed.objectName, o.objectName), 0) AS INT))) AS other
  FROM {schema}.access_history
  LATERAL VIEW explode(direct_objects_accessed) AS o
  WHERE NOT coalesce(size(array_distinct(direct_objects_accessed.objectName)) < size(direct_objects_accessed)
    OR size(array_distinct(base_objects_accessed.objectName)) < size(base_objects_accessed), false)
)
LATERAL VIEW OUTER explode(o.columns) AS c
UNION ALL
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, c.columnName, c.columnId, false, true
FROM (
  SELECT query_id, query_start_time, query_date, user_name, o,
    element_at(direct_objects_accessed,
      CAST(nullif(array_position(direct_objects_accessed.objectName, o.objectName), 0) AS INT)) AS other
  FROM {schema}.access_history
  LATERAL VIEW explode(base_objects_accessed) AS o
  WHERE NOT coalesce(size(array_distinct(direct_objects_accessed.objectName)) < size(direct_objects_accessed)
    OR size(array_distinct(base_objects_accessed.objectName)) < size(base_objects_accessed), false) AND NOT coalesce(array_contains(direct_objects_accessed, o), false)
)
LATERAL VIEW OUTER explode(o.columns) AS c
WHERE NOT coalesce(o.objectDomain <=> other.objectDomain AND o.objectId <=> other.objectId
  AND if(c IS NULL, coalesce(size(other.columns), 0) <= 0, array_contains(other.columns, c)), false)
UNION ALL
SELECT query_id, query_start_time, query_date, user_name,
  o.objectDomain, o.objectName, o.objectId, c.columnName, c.columnId, bool_or(side.is_direct), bool_or(NOT side.is_direct)
FROM (
  SELECT query_id, query_start_time, query_date, user_name, direct_objects_accessed, base_objects_accessed
  FROM {schema}.access_history
  WHERE coalesce(size(array_distinct(direct_objects_accessed.objectName)) < size(direct_objects_accessed)
    OR size(array_distinct(base_objects_accessed.objectName)) < size(base_objects_accessed), false)
)
LATERAL VIEW explode(array(
  named_struct('is_direct', true, 'objects', direct_objects_accessed),
  named_struct('is_direct', false, 'objects', base_objects_accessed))) AS side
LATERAL VIEW explode(side.objects) AS o
LATERAL VIEW OUTER explode(o.columns) AS c
GROUP BY ALL
