-- https://cloud.google.com/bigquery/docs/information-schema-jobs (Get the last few failed jobs)
-- Changed: the dot of INFORMATION_SCHEMA.JOBS, no region; a text has single quotes.
SELECT job_id, creation_time, user_email, error_result
FROM account_usage.information_schema_jobs
WHERE error_result.reason != 'Null'
ORDER BY creation_time DESC
LIMIT 3
