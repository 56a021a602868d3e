"""The report `access`: who read what, when, from where.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.statements import ORIGINS, PURPOSES, REFUSED, REFUSED_OVER_TIME, SAMPLE
from audit.report.model import Bars, Days, Figure, Hours, Kind, Section

_OVER_TIME = Figure(
    "reads_over_time",
    "Reads over time",
    "How many statements read data, and when?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day, count(*) AS reads
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND reads_data
GROUP BY 1
ORDER BY 1
""",
    Days("day", "reads"),
)

_READERS = Figure(
    "top_readers",
    "Top readers",
    "Which 20 users read most?",
    """
SELECT user_name, count(*) AS reads
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND reads_data
GROUP BY user_name
ORDER BY reads DESC, user_name
LIMIT 20
""",
    Bars("user_name", "reads"),
)

_OBJECTS = Figure(
    "top_objects",
    "What is read most",
    "Which 20 tables, views and files were read most, by name or through a view?",
    """
SELECT object_name, count(DISTINCT query_id) AS reads
FROM account_usage.objects_read
WHERE query_date BETWEEN :from_day AND :to_day AND object_domain NOT IN ('FUNCTION', 'PROCEDURE')
GROUP BY object_name
ORDER BY reads DESC, object_name
LIMIT 20
""",
    Bars("object_name", "reads"),
)

_USERS_BY_HOUR = Figure(
    "readers_by_hour",
    "Who reads at which hour",
    "At which hours of the day (UTC) do the 15 busiest users read?",
    """
WITH busiest AS (
  SELECT user_name
  FROM account_usage.statements
  WHERE query_date BETWEEN :from_day AND :to_day AND reads_data
  GROUP BY user_name
  ORDER BY count(*) DESC, user_name
  LIMIT 15
)
SELECT s.user_name, hour(s.start_time) AS hour, count(*) AS reads
FROM account_usage.statements s
JOIN busiest b ON b.user_name = s.user_name
WHERE s.query_date BETWEEN :from_day AND :to_day AND s.reads_data
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Hours("user_name", "hour", "reads"),
)

_OBJECTS_BY_HOUR = Figure(
    "objects_by_hour",
    "What is read at which hour",
    "At which hours of the day (UTC) are the 15 most used objects read?",
    """
WITH reads AS (
  SELECT object_name, query_id, hour(query_start_time) AS hour
  FROM account_usage.objects_read
  WHERE query_date BETWEEN :from_day AND :to_day AND object_domain NOT IN ('FUNCTION', 'PROCEDURE')
), busiest AS (
  SELECT object_name
  FROM reads
  GROUP BY object_name
  ORDER BY count(DISTINCT query_id) DESC, object_name
  LIMIT 15
)
SELECT r.object_name, r.hour, count(DISTINCT r.query_id) AS reads
FROM reads r
JOIN busiest b ON b.object_name = r.object_name
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Hours("object_name", "hour", "reads"),
)

_WHO_READ_WHAT = Figure(
    "who_read_what",
    "Who read what",
    "Which user read which object, how often, by name or through a view, and which columns of it?",
    """
SELECT user_name, object_name, object_domain, count(DISTINCT query_id) AS reads,
  count(DISTINCT query_id) FILTER (WHERE NOT is_direct) AS through_views,
  array_join(sort_array(collect_set(column_name)), ', ') AS columns,
  min(query_start_time) AS first_read, max(query_start_time) AS last_read
FROM account_usage.columns_read
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY user_name, object_name, object_domain
ORDER BY reads DESC, user_name, object_name
""",
)

EXPORTS = Figure(
    "written_to_files",
    "Written to files",
    "Which data left the tables for files, and who wrote it?",
    """
SELECT query_start_time, user_name, object_name AS written_to,
  array_join(sort_array(collect_set(source_object_name)), ', ') AS sources, query_id
FROM account_usage.columns_written
WHERE query_date BETWEEN :from_day AND :to_day AND object_domain = 'STAGE'
GROUP BY query_start_time, user_name, object_name, query_id
ORDER BY query_start_time DESC, written_to, query_id
""",
)

ACCESS = Kind(
    "access",
    "Who read what",
    "Each statement that read data in the period: who issued it, what it read, when, from where and what"
    " for.",
    (
        Section(
            "Reads",
            "A read is a statement that read a table, a view or a file. A statement that reads through a"
            " view counts for the view and for each table below it.",
            (_OVER_TIME, _READERS, _OBJECTS, _USERS_BY_HOUR, _OBJECTS_BY_HOUR),
        ),
        Section("In detail", "", (_WHO_READ_WHAT, EXPORTS)),
        Section(
            "From where, and what for",
            "The purpose is what the session or the program has told: audit.purpose, audit.query_tag.",
            (ORIGINS, PURPOSES),
        ),
        Section(
            "Refused",
            "What a statement that failed or was denied would have read is known from its text alone.",
            (REFUSED_OVER_TIME, REFUSED),
        ),
        Section("Sample", "", (SAMPLE,)),
    ),
)
