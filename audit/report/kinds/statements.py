"""Figures about statements that several reports share.

In: nothing. Out: figures.
"""

from __future__ import annotations

from audit.report.model import Days, Figure

REFUSED = Figure(
    "failed_and_denied",
    "Failed and denied",
    "Which statements failed or were denied, and what did they try to touch?",
    """
SELECT start_time, user_name, role_name, execution_status, error_code,
  array_join(objects_tried, ', ') AS objects_tried, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status IN ('FAIL', 'DENIED')
ORDER BY start_time DESC, query_id
""",
)

REFUSED_OVER_TIME = Figure(
    "failed_and_denied_over_time",
    "Failed and denied over time",
    "When did statements fail, and when were they denied?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day, execution_status, count(*) AS statements
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status IN ('FAIL', 'DENIED')
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Days("day", "statements", "execution_status"),
)

ORIGINS = Figure(
    "origins",
    "Where statements came from",
    "From which machine, by which program and as which user of the operating system did each user work?",
    """
SELECT user_name, os_user, client_address, client_host, client_program, count(*) AS statements,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
GROUP BY ALL
ORDER BY statements DESC, user_name, os_user, client_address, client_host, client_program
""",
)

PURPOSES = Figure(
    "purposes",
    "What for",
    "For which purposes was data read and written, by whom?",
    """
SELECT coalesce(purpose, 'none was given') AS purpose, query_tag, user_name,
  count_if(reads_data) AS reads, count_if(writes_data) AS writes,
  min(start_time) AS first_statement, max(start_time) AS last_statement
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND (reads_data OR writes_data)
GROUP BY ALL
ORDER BY reads + writes DESC, purpose, query_tag, user_name
""",
)

USERS = Figure(
    "users",
    "Users",
    "Who worked in the period, and since when are they known?",
    """
SELECT user_name, min(start_time) AS first_ever, max(start_time) AS last_ever,
  min(query_date) BETWEEN :from_day AND :to_day AS is_new,
  count_if(query_date BETWEEN :from_day AND :to_day) AS statements
FROM account_usage.query_history
WHERE query_date <= :to_day AND query_type <> 'GAP' AND NOT startswith(query_type, 'AUDIT_')
GROUP BY user_name
HAVING count_if(query_date BETWEEN :from_day AND :to_day) > 0
ORDER BY statements DESC, user_name
""",
)

SAMPLE = Figure(
    "sample",
    "A sample to check by hand",
    "Which 25 statements should a reviewer follow by hand? The choice looks random, and is the same each"
    " time.",
    """
SELECT start_time, user_name, query_type, execution_status, query_id, query_text
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND query_type <> 'GAP'
ORDER BY md5(query_id)
LIMIT 25
""",
)
