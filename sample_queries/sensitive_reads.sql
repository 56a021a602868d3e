-- Which sensitive columns were read, by whom, how often? `*` names all columns of a table.
-- Reads account_usage.columns_read.
-- Theme: reads
-- :columns = 'spark_catalog.raw.planes.tailnum, spark_catalog.raw.airports.*'   full names, by commas
-- :days = 30                                                                    how far back
SELECT object_name, column_name, user_name, count(DISTINCT query_id) AS queries, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE query_start_time >= current_timestamp() - make_dt_interval(:days)
  AND column_name IS NOT NULL
  AND arrays_overlap(split(trim(:columns), ' *, *'),
    array(concat(object_name, '.', column_name), concat(object_name, '.*')))
GROUP BY object_name, column_name, user_name
ORDER BY object_name, column_name, user_name
