-- How active was each user on each day: statements, reads, writes, DDL, failures?
-- Reads account_usage.statements.
-- Theme: use and cost
-- :days = 30   how far back
SELECT CAST(start_time AS DATE) AS day, user_name, CAST(sum(calls) AS BIGINT) AS statements,
  CAST(sum(if(reads_data, calls, 0)) AS BIGINT) AS reads, count_if(writes_data) AS writes, count_if(is_ddl) AS ddl,
  count_if(execution_status <> 'SUCCESS') AS not_successful, round(sum(total_elapsed_time) / 1000, 1) AS seconds
FROM account_usage.statements
WHERE start_time >= current_timestamp() - make_dt_interval(:days)
GROUP BY 1, 2
ORDER BY day DESC, statements DESC, user_name
