-- https://cloud.google.com/bigquery/docs/information-schema-jobs (Query jobs per table)
-- Changed: the dot of INFORMATION_SCHEMA.JOBS, no region; a join with UNNEST is LATERAL VIEW explode.
SELECT t.project_id, t.dataset_id, t.table_id, count(*) AS num_references
FROM account_usage.information_schema_jobs
LATERAL VIEW explode(referenced_tables) AS t
GROUP BY t.project_id, t.dataset_id, t.table_id
ORDER BY num_references DESC
