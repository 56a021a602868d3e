-- Which jobs ran, as BigQuery shows them? The INFORMATION_SCHEMA.JOBS of BigQuery: its columns. One row for each
-- statement. A project is a catalog here, a dataset a schema.
-- Example:
--   SELECT user_email, count(*) AS jobs, sum(total_bytes_processed) AS bytes
--   FROM account_usage.information_schema_jobs
--   WHERE query_date >= current_date() - 7
--   GROUP BY user_email
--   ORDER BY bytes DESC
CREATE OR REPLACE VIEW {schema}.information_schema_jobs (
  bi_engine_statistics COMMENT 'NULL: there is no BI Engine',
  cache_hit COMMENT 'FALSE: no result comes from a cache',
  creation_time COMMENT 'When the statement started (UTC)',
  destination_table COMMENT 'The first table that it wrote: project_id, dataset_id and table_id; NULL for none',
  dml_statistics COMMENT 'Rows of INSERT, DELETE and UPDATE: inserted_row_count, deleted_row_count, updated_row_count; NULL for others',
  end_time COMMENT 'When it ended (UTC); NULL while it runs or after a crash',
  error_result COMMENT 'NULL where it succeeded or runs; reason: the error class of Spark; message; location and debug_info are NULL',
  job_creation_reason COMMENT 'code: REQUESTED',
  job_id COMMENT 'query_id of query_history',
  job_stages COMMENT 'NULL: not measured',
  job_type COMMENT 'QUERY; EXTRACT for UNLOAD, LOAD for COPY INTO a table, COPY for CLONE',
  labels COMMENT 'query_tag and purpose, where they are set: key and value',
  parent_job_id COMMENT 'The statement, script or procedure that ran this one',
  priority COMMENT 'INTERACTIVE: every statement runs at once',
  project_id COMMENT 'The current catalog',
  project_number COMMENT 'NULL: catalogs have no number',
  query COMMENT 'query_text of query_history',
  referenced_tables COMMENT 'Tables and views that it read, those below views, too: project_id, dataset_id and table_id. Where it failed: what it names',
  reservation_id COMMENT 'NULL: there are no reservations',
  edition COMMENT 'NULL: there are no editions',
  session_info COMMENT 'session_id: the Spark session',
  start_time COMMENT 'When it started (UTC)',
  state COMMENT 'DONE or RUNNING',
  statement_type COMMENT 'query_type of query_history',
  timeline COMMENT 'NULL: not measured',
  total_bytes_billed COMMENT 'NULL: nothing is billed',
  total_bytes_processed COMMENT 'bytes_scanned of query_history',
  total_modified_partitions COMMENT 'NULL: not measured',
  total_slot_ms COMMENT 'NULL: there are no slots',
  total_services_sku_slot_ms COMMENT 'NULL: there are no slots',
  transaction_id COMMENT 'NULL: there are no transactions of several statements',
  user_email COMMENT 'user_name of query_history',
  principal_subject COMMENT 'user: and the name',
  query_info COMMENT 'query_hashes.normalized_literals: query_parameterized_hash of query_history; resource_warning is NULL',
  transferred_bytes COMMENT 'NULL: not measured',
  materialized_view_statistics COMMENT 'NULL: not measured',
  metadata_cache_statistics COMMENT 'NULL: not measured',
  search_statistics COMMENT 'NULL: not measured',
  query_dialect COMMENT 'NULL: SQL is that of Spark',
  continuous COMMENT 'NULL: streams are not told apart',
  continuous_query_info COMMENT 'NULL: not of Spark',
  vector_search_statistics COMMENT 'NULL: not measured',
  external_service_costs COMMENT 'NULL: not measured',
  query_date COMMENT 'Not of BigQuery: the day (UTC), which is the partition'
) COMMENT 'Statements as BigQuery shows its jobs' AS
SELECT CAST(NULL AS STRING) AS bi_engine_statistics, FALSE AS cache_hit, start_time AS creation_time,
  if(written IS NULL, NULL, named_struct('project_id', regexp_extract(written,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 1), 'dataset_id', regexp_extract(written,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 2), 'table_id', regexp_extract(written,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 3))) AS destination_table,
  if(query_type IN ('INSERT', 'DELETE', 'UPDATE'), named_struct('inserted_row_count', if(query_type = 'INSERT',
    rows_produced, NULL), 'deleted_row_count', if(query_type = 'DELETE', rows_produced, NULL), 'updated_row_count',
    if(query_type = 'UPDATE', rows_produced, NULL)), NULL) AS dml_statistics,
  end_time,
  if(execution_status IN ('SUCCESS', 'RUNNING'), NULL, named_struct('reason', coalesce(error_code,
    execution_status), 'location', CAST(NULL AS STRING), 'debug_info', CAST(NULL AS STRING), 'message',
    error_message)) AS error_result,
  named_struct('code', 'REQUESTED') AS job_creation_reason, query_id AS job_id, CAST(NULL AS STRING) AS job_stages,
  CASE WHEN query_type = 'UNLOAD' THEN 'EXTRACT' WHEN startswith(query_type, 'COPY') THEN 'LOAD' WHEN is_clone
    THEN 'COPY' ELSE 'QUERY' END AS job_type,
  filter(array(named_struct('key', 'query_tag', 'value', query_tag), named_struct('key', 'purpose', 'value',
    purpose)), l -> l.value IS NOT NULL) AS labels,
  parent_query_id AS parent_job_id, 'INTERACTIVE' AS priority, database_name AS project_id,
  CAST(NULL AS BIGINT) AS project_number, query_text AS query,
  transform(sort_array(array_distinct(names)), n -> named_struct('project_id', regexp_extract(n,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 1), 'dataset_id', regexp_extract(n,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 2), 'table_id', regexp_extract(n,
    '^(`[^`]+`|[^.`]+)[.](`[^`]+`|[^.`]+)[.](.+)$', 3))) AS referenced_tables,
  CAST(NULL AS STRING) AS reservation_id, CAST(NULL AS STRING) AS edition,
  named_struct('session_id', session_id) AS session_info, start_time,
  if(execution_status = 'RUNNING', 'RUNNING', 'DONE') AS state, query_type AS statement_type,
  CAST(NULL AS STRING) AS timeline, CAST(NULL AS BIGINT) AS total_bytes_billed,
  bytes_scanned AS total_bytes_processed, CAST(NULL AS BIGINT) AS total_modified_partitions,
  CAST(NULL AS BIGINT) AS total_slot_ms, CAST(NULL AS BIGINT) AS total_services_sku_slot_ms,
  CAST(NULL AS STRING) AS transaction_id, user_name AS user_email, concat('user:', user_name) AS principal_subject,
  named_struct('resource_warning', CAST(NULL AS STRING), 'query_hashes', named_struct('normalized_literals',
    query_parameterized_hash)) AS query_info,
  CAST(NULL AS BIGINT) AS transferred_bytes, CAST(NULL AS STRING) AS materialized_view_statistics,
  CAST(NULL AS STRING) AS metadata_cache_statistics, CAST(NULL AS STRING) AS search_statistics,
  CAST(NULL AS STRING) AS query_dialect, CAST(NULL AS BOOLEAN) AS continuous,
  CAST(NULL AS STRING) AS continuous_query_info, CAST(NULL AS STRING) AS vector_search_statistics,
  CAST(NULL AS STRING) AS external_service_costs, query_date
FROM (
  SELECT q.*, a.is_clone, a.written, if(a.query_id IS NULL, coalesce(q.objects_tried, array()), a.names) AS names
  FROM {schema}.query_history q
  LEFT JOIN (
    SELECT query_id, query_start_time, query_date,
      get_json_object(object_modified_by_ddl.properties, '$.creationMode.value') = 'CLONE' AS is_clone,
      get(transform(filter(objects_modified, o -> o.objectDomain IN ('Table', 'EXTERNAL TABLE')), o -> o.objectName), 0) AS written,
      -- A lambda over whole objects makes Spark read their columns, too. It is for objects other than tables and views.
      concat(
        coalesce(if(size(array_except(direct_objects_accessed.objectDomain, array('Table', 'EXTERNAL TABLE', 'VIEW'))) = 0,
          direct_objects_accessed.objectName, transform(filter(arrays_zip(direct_objects_accessed.objectName,
            direct_objects_accessed.objectDomain), o -> o.objectDomain IN ('Table', 'EXTERNAL TABLE', 'VIEW')), o -> o.objectName)), array()),
        coalesce(if(size(array_except(base_objects_accessed.objectDomain, array('Table', 'EXTERNAL TABLE', 'VIEW'))) = 0,
          base_objects_accessed.objectName, transform(filter(arrays_zip(base_objects_accessed.objectName,
            base_objects_accessed.objectDomain), o -> o.objectDomain IN ('Table', 'EXTERNAL TABLE', 'VIEW')), o -> o.objectName)), array())) AS names
    FROM {schema}.access_history
  ) a ON a.query_id = q.query_id AND a.query_start_time = q.start_time AND a.query_date = q.query_date
  WHERE NOT startswith(q.query_type, 'AUDIT_') AND q.query_type <> 'GAP'
)
