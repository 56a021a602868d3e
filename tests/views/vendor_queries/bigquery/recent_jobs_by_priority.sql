-- https://cloud.google.com/bigquery/docs/information-schema-jobs (Count recent active queries by query priority)
-- Changed: the dot of INFORMATION_SCHEMA.JOBS, no region; TIMESTAMP_SUB is a minus with an interval.
SELECT priority, count(*) AS active_jobs
FROM account_usage.information_schema_jobs
WHERE creation_time > current_timestamp() - INTERVAL 7 HOURS AND job_type = 'QUERY'
GROUP BY priority
