-- https://cloud.google.com/bigquery/docs/information-schema-jobs (Bytes processed per user identity)
-- Changed: the dot of INFORMATION_SCHEMA.JOBS, no region; nothing is billed, so that bytes are those processed.
SELECT user_email, sum(total_bytes_processed) AS bytes_processed
FROM account_usage.information_schema_jobs
WHERE job_type = 'QUERY' AND statement_type != 'SCRIPT'
GROUP BY user_email
