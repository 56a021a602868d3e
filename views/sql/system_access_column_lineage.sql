-- Which column was made of which, as Unity Catalog shows it? Unity Catalog's system.access.column_lineage: its columns,
-- in its order. One row for each statement, column that it names and column that it made of that one; a statement that
-- reads only has no target.
-- Example:
--   SELECT DISTINCT target_table_full_name, target_column_name
--   FROM account_usage.system_access_column_lineage
--   WHERE event_date >= current_date() - 7 AND source_table_full_name = 'spark_catalog.staging.flights' AND target_type = 'TABLE'
CREATE OR REPLACE VIEW {schema}.system_access_column_lineage (
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
  source_type COMMENT 'TABLE, VIEW or PATH',
  source_column_name COMMENT 'The column that the value came from, or that was read',
  target_table_full_name COMMENT 'catalog.schema.table; NULL for a path',
  target_table_catalog COMMENT 'The catalog; NULL for a path',
  target_table_schema COMMENT 'The schema; NULL for a path',
  target_table_name COMMENT 'The table or view; NULL for a path',
  target_path COMMENT 'The location of files; NULL for a table',
  target_type COMMENT 'TABLE, VIEW or PATH; NULL for a read',
  target_column_name COMMENT 'The column that was made; NULL for a read',
  created_by COMMENT 'user_name of query_history',
  event_time COMMENT 'When the statement started (UTC)',
  event_date COMMENT 'The day (UTC)',
  record_id COMMENT 'NULL: a row has no identifier',
  event_id COMMENT 'The statement',
  statement_id COMMENT 'query_id of query_history',
  entity_metadata COMMENT 'NULL: as entity_type; its fields are there',
  direct_access COMMENT 'TRUE: the statement names the source',
  query_date COMMENT 'Not of Unity Catalog: the day (UTC), which is the partition'
) COMMENT 'Column lineage as Unity Catalog shows it' AS
SELECT CAST(NULL AS STRING) AS account_id, CAST(NULL AS STRING) AS metastore_id,
  CAST(NULL AS STRING) AS workspace_id, CAST(NULL AS STRING) AS entity_type, CAST(NULL AS STRING) AS entity_id,
  CAST(NULL AS STRING) AS entity_run_id, source_table_full_name,
  source_table_catalog, source_table_schema, source_table_name, source_path, source_type,
  source_column AS source_column_name,
  if(target_domain = 'STAGE', NULL, target) AS target_table_full_name,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 1), '') AS target_table_catalog,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), '') AS target_table_schema,
  nullif(regexp_extract(target, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 3), '') AS target_table_name,
  if(target_domain = 'STAGE', target, NULL) AS target_path,
  CASE target_domain WHEN 'STAGE' THEN 'PATH' WHEN 'EXTERNAL TABLE' THEN 'TABLE' ELSE upper(target_domain) END AS target_type,
  target_column AS target_column_name,
  user_name AS created_by, query_start_time AS event_time, query_date AS event_date,
  CAST(NULL AS STRING) AS record_id, query_id AS event_id, query_id AS statement_id,
  CAST(NULL AS STRUCT<job_info: STRUCT<job_id: STRING, job_run_id: STRING>, dashboard_id: STRING,
    legacy_dashboard_id: STRING, notebook_id: STRING, sql_query_id: STRING, dlt_pipeline_info:
    STRUCT<dlt_pipeline_id: STRING, dlt_update_id: STRING>>) AS entity_metadata,
  true AS direct_access, query_date
FROM (
  SELECT query_id, query_start_time, query_date, user_name, source_column, target, target_domain, target_column,
    if(source_domain = 'STAGE', NULL, source) AS source_table_full_name,
    nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 1), '') AS source_table_catalog,
    nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), '') AS source_table_schema,
    nullif(regexp_extract(source, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 3), '') AS source_table_name,
    if(source_domain = 'STAGE', source, NULL) AS source_path,
    CASE source_domain WHEN 'STAGE' THEN 'PATH' WHEN 'EXTERNAL TABLE' THEN 'TABLE' ELSE upper(source_domain) END
      AS source_type
  FROM (
    SELECT DISTINCT query_id, query_start_time, query_date, user_name, source_object_name AS source,
      source_object_domain AS source_domain, source_column_name AS source_column, target_object_name AS target,
      target_object_domain AS target_domain, target_column_name AS target_column
    FROM {schema}.column_lineage
    WHERE source_kind = 'direct' AND NOT is_indirect AND target_column_name IS NOT NULL
      AND source_object_domain IN ('Table', 'EXTERNAL TABLE', 'VIEW', 'STAGE')
    -- <spark>
    UNION ALL
    SELECT query_id, query_start_time, query_date, user_name, name, domain, c.columnName, CAST(NULL AS STRING),
      CAST(NULL AS STRING), CAST(NULL AS STRING)
    FROM (
      SELECT query_id, query_start_time, query_date, user_name, o.objectName AS name, o.objectDomain AS domain,
        o.columns AS columns
      FROM {schema}.access_history
      LATERAL VIEW explode(direct_objects_accessed) AS o
      WHERE coalesce(size(objects_modified), 0) <= 0 AND object_modified_by_ddl IS NULL
        AND o.objectDomain IN ('Table', 'EXTERNAL TABLE', 'VIEW', 'STAGE')
    )
    LATERAL VIEW explode(columns) AS c
  )
    -- </spark>
    -- <duckdb>
  )
  UNION ALL
  SELECT query_id, query_start_time, query_date, user_name, c.columnName, CAST(NULL AS STRING),
    CAST(NULL AS STRING), CAST(NULL AS STRING), source_table_full_name, source_table_catalog, source_table_schema,
    source_table_name, source_path, source_type
  FROM (
    -- Once for an object, not for each of its columns.
    SELECT query_id, query_start_time, query_date, user_name, o.columns AS columns,
      if(o.objectDomain = 'STAGE', NULL, o.objectName) AS source_table_full_name,
      nullif(regexp_extract(o.objectName, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 1), '') AS source_table_catalog,
      nullif(regexp_extract(o.objectName, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 2), '') AS source_table_schema,
      nullif(regexp_extract(o.objectName, '^(`[^`]+`|[^.`/]+)[.](`[^`]+`|[^.`/]+)[.](.+)$', 3), '') AS source_table_name,
      if(o.objectDomain = 'STAGE', o.objectName, NULL) AS source_path,
      CASE o.objectDomain WHEN 'STAGE' THEN 'PATH' WHEN 'EXTERNAL TABLE' THEN 'TABLE' ELSE upper(o.objectDomain) END
        AS source_type
    FROM {schema}.access_history
    LATERAL VIEW explode(direct_objects_accessed) AS o
    WHERE coalesce(size(objects_modified), 0) <= 0 AND object_modified_by_ddl IS NULL
      AND o.objectDomain IN ('Table', 'EXTERNAL TABLE', 'VIEW', 'STAGE')
  )
  LATERAL VIEW explode(columns) AS c
    -- </duckdb>
)
WHERE source_column IS NOT NULL
