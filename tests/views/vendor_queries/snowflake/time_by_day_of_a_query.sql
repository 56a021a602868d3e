-- https://docs.snowflake.com/en/user-guide/query-hash (Examples)
-- Changed: the schema and the name of the view; any_value is min, so that each engine gives the same.
-- :hash = ''   query_parameterized_hash
SELECT date_trunc('day', start_time), sum(total_elapsed_time), min(query_id)
FROM account_usage.snowflake_query_history
WHERE query_parameterized_hash = :hash AND date_trunc('day', start_time) >= current_date() - 30
GROUP BY date_trunc('day', start_time)
