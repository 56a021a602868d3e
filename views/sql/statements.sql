-- One row for each statement: query_history beside what the analysis made of it. The flags are null for
-- statements that have no row in access_history: those that did not succeed, were denied, or still run.
-- What has happened to the logging itself is no statement: logging_history has it.
CREATE OR REPLACE VIEW {schema}.statements COMMENT 'Statements: query_history with how each was analysed' AS
SELECT q.* EXCEPT (calls), coalesce(q.calls, 1) AS calls, a.captured_by, a.analysis, a.analysis_reason,
  a.reads_data, a.writes_data, a.is_ddl
FROM {schema}.query_history q
LEFT JOIN (
  SELECT query_id, query_start_time, captured_by, analysis, analysis_reason,
    coalesce(size(base_objects_accessed), 0) > 0 AS reads_data,
    coalesce(size(objects_modified), 0) > 0 AS writes_data,
    object_modified_by_ddl IS NOT NULL AS is_ddl
  FROM {schema}.access_history
) a ON a.query_id = q.query_id AND a.query_start_time = q.start_time
WHERE NOT startswith(q.query_type, 'AUDIT_')
