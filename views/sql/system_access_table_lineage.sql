-- Which table was made of which, as Unity Catalog shows it? Unity Catalog's system.access.table_lineage: its columns,
-- in its order. One row for each statement, source that it names and target; a statement that reads only has no target,
-- one that writes values of its own has no source.
-- Example:
--   SELECT DISTINCT source_table_full_name, source_type, target_table_full_name
--   FROM account_usage.system_access_table_lineage
--   WHERE event_date >= current_date() - 7 AND target_type = 'TABLE'
CREATE OR REPLACE VIEW {schema}.system_access_table_lineage (
  account_id COMMENT 'NULL: there is no account of Databricks',
  metastore_id COMMENT 'NULL: there is no metastore of Unity Catalog',
  workspace_id COMMENT 'NULL: there is no workspace',
  entity_type COMMENT 'NULL: statements of notebooks, jobs and dashboards are not told apart',
  entity_id COMMENT 'NULL: as entity_type',
  entity_run_id COMMENT 'NULL: as entity_type',
  source_table_full_name COMMENT 'catalog.schema.table; NULL for a path',
  source_table_catalog COMMENT 'The catalog; NULL for a path',
  source_table_schema COMMENT 'The schema; NULL for a path',
  source_table_name COMMENT 'The table or view; NULL for a path',
  source_path COMMENT 'The location of files; NULL for a table',
  source_type COMMENT 'TABLE, VIEW or PATH; NULL without a source',
  target_table_full_name COMMENT 'catalog.schema.table; NULL for a path',
  target_table_catalog COMMENT 'The catalog; NULL for a path',
  target_table_schema COMMENT 'The schema; NULL for a path',
  target_table_name COMMENT 'The table or view; NULL for a path',
  target_path COMMENT 'The location of files; NULL for a table',
  target_type COMMENT 'TABLE, VIEW or PATH; NULL for a read',
  created_by COMMENT 'user_name of query_history',
  event_time COMMENT 'When the statement started (UTC)',
  event_date COMMENT 'The day (UTC)',
  record_id COMMENT 'NULL: a row has no identifier',
  event_id COMMENT 'The statement',
  statement_id COMMENT 'query_id of query_history',
  entity_metadata COMMENT 'NULL: as entity_type; its fields are there',
  direct_access COMMENT 'TRUE: the statement names the source',
  query_date COMMENT 'Not of Unity Catalog: the day (UTC), which is the partition'
) COMMENT 'Table lineage as Unity Catalog shows it' AS
SELECT CAST(NULL AS STRING) AS account_id, CAST(NULL AS STRING) AS metastore_id,
  CAST(NULL AS STRING) AS workspace_id, CAST(NULL AS STRING) AS entity_type, CAST(NULL AS STRING) AS entity_id,
  CAST(NULL AS STRING) AS entity_run_id, if(source_domain = 'STAGE', NULL, source) AS source_table_full_name,
  nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 1), '') AS source_table_catalog,
  nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), '') AS source_table_schema,
  nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 3), '') AS source_table_name,
  if(source_domain = 'STAGE', source, NULL) AS source_path,
  CASE source_domain WHEN 'STAGE' THEN 'PATH' WHEN 'EXTERNAL TABLE' THEN 'TABLE' ELSE upper(source_domain) END AS source_type,
  if(target_domain = 'STAGE', NULL, target) AS target_table_full_name,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 1), '') AS target_table_catalog,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), '') AS target_table_schema,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 3), '') AS target_table_name,
  if(target_domain = 'STAGE', target, NULL) AS target_path,
  CASE target_domain WHEN 'STAGE' THEN 'PATH' WHEN 'EXTERNAL TABLE' THEN 'TABLE' ELSE upper(target_domain) END AS target_type,
  user_name AS created_by,
  query_start_time AS event_time, query_date AS event_date, CAST(NULL AS STRING) AS record_id, query_id AS event_id,
  query_id AS statement_id,
  CAST(NULL AS STRUCT<job_info: STRUCT<job_id: STRING, job_run_id: STRING>, dashboard_id: STRING,
    legacy_dashboard_id: STRING, notebook_id: STRING, sql_query_id: STRING, dlt_pipeline_info:
    STRUCT<dlt_pipeline_id: STRING, dlt_update_id: STRING>>) AS entity_metadata,
  true AS direct_access, query_date
FROM (
  SELECT query_id, query_start_time, query_date, user_name, source_object_name AS source,
    source_object_domain AS source_domain, target_object_name AS target, target_object_domain AS target_domain
  FROM {schema}.table_lineage
  WHERE source_kind = 'direct'
  -- <spark>
  UNION ALL
  SELECT query_id, query_start_time, query_date, user_name, if(is_write, NULL, o.names), if(is_write, NULL, o.domains),
    if(is_write, o.names, NULL), if(is_write, o.domains, NULL)
  FROM (
    SELECT query_id, query_start_time, query_date, user_name, is_write, if(is_write, names_written, names_read) AS names,
      if(is_write, domains_written, domains_read) AS domains
    FROM (
      SELECT query_id, query_start_time, query_date, user_name, coalesce(size(direct_objects_accessed), 0) <= 0 AS is_write,
        coalesce(size(objects_modified), 0) <= 0 AND object_modified_by_ddl IS NULL AS is_read,
        direct_objects_accessed.objectName AS names_read, direct_objects_accessed.objectDomain AS domains_read,
        objects_modified.objectName AS names_written, objects_modified.objectDomain AS domains_written
      FROM {schema}.access_history
    )
    WHERE is_write OR is_read
  )
  LATERAL VIEW explode(arrays_zip(names, domains)) AS o
  -- </spark>
  -- <duckdb>
  UNION ALL
  SELECT query_id, query_start_time, query_date, user_name, o.objectName, o.objectDomain, CAST(NULL AS STRING),
    CAST(NULL AS STRING)
  FROM {schema}.access_history
  LATERAL VIEW explode(direct_objects_accessed) AS o
  WHERE coalesce(size(objects_modified), 0) <= 0 AND object_modified_by_ddl IS NULL
  UNION ALL
  SELECT query_id, query_start_time, query_date, user_name, CAST(NULL AS STRING), CAST(NULL AS STRING), o.objectName,
    o.objectDomain
  FROM {schema}.access_history
  LATERAL VIEW explode(objects_modified) AS o
  WHERE coalesce(size(direct_objects_accessed), 0) <= 0
  -- </duckdb>
)
WHERE coalesce(source_domain, 'Table') IN ('Table', 'EXTERNAL TABLE', 'VIEW', 'STAGE')
  AND coalesce(target_domain, 'Table') IN ('Table', 'EXTERNAL TABLE', 'VIEW', 'STAGE')
