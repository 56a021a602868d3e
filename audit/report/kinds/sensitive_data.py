"""The report `sensitive-data`: who read what policies protect, and what they saw of it.

In: nothing. Out: its figures.
"""

from __future__ import annotations

from audit.report.kinds.access import EXPORTS
from audit.report.model import Bars, Days, Figure, Hours, Kind, Section

_PROTECTED = Figure(
    "protected_data",
    "What is protected",
    "Which columns and tables had a policy in force when somebody read them?",
    """
SELECT object_name, coalesce(column_name, 'all rows') AS column_name, policy_kind, policy_name,
  count(DISTINCT policy_version) AS versions, count(DISTINCT query_id) AS reads,
  count(DISTINCT user_name) AS users, max(query_start_time) AS last_read
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY ALL
ORDER BY object_name, column_name, policy_name
""",
)

_OUTCOMES = Figure(
    "policies_hit",
    "Policies hit",
    "How often did each policy hide something from a reader, and how often did it show all?",
    """
SELECT policy_name,
  CASE WHEN changed_result THEN 'may have hidden values' WHEN NOT changed_result THEN 'showed all'
    ELSE 'nobody can tell' END AS outcome,
  count(DISTINCT query_id) AS reads, sum(count(DISTINCT query_id)) OVER (PARTITION BY policy_name) AS in_all
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Bars("policy_name", "reads", "outcome", "in_all"),
)

_OVER_TIME = Figure(
    "protected_reads_over_time",
    "Reads of protected data over time",
    "When were protected columns and tables read?",
    """
SELECT CAST(date_trunc(:step, query_date) AS DATE) AS day, count(DISTINCT query_id) AS reads
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY 1
ORDER BY 1
""",
    Days("day", "reads"),
)

_BY_HOUR = Figure(
    "protected_reads_by_hour",
    "Who reads protected data at which hour",
    "At which hours of the day (UTC) do the 15 busiest users read protected data?",
    """
WITH busiest AS (
  SELECT user_name
  FROM account_usage.policies_in_force
  WHERE query_date BETWEEN :from_day AND :to_day
  GROUP BY user_name
  ORDER BY count(DISTINCT query_id) DESC, user_name
  LIMIT 15
)
SELECT p.user_name, hour(p.query_start_time) AS hour, count(DISTINCT p.query_id) AS reads
FROM account_usage.policies_in_force p
JOIN busiest b ON b.user_name = p.user_name
WHERE p.query_date BETWEEN :from_day AND :to_day
GROUP BY 1, 2
ORDER BY 1, 2
""",
    Hours("user_name", "hour", "reads"),
)

_READERS = Figure(
    "protected_data_readers",
    "Who read protected data",
    "Which user read which protected column or table, how often, and how often was all of it shown?",
    """
SELECT user_name, object_name, coalesce(column_name, 'all rows') AS column_name, policy_name,
  count(DISTINCT query_id) AS reads,
  count(DISTINCT query_id) FILTER (WHERE NOT changed_result) AS shown_all,
  max(query_start_time) AS last_read
FROM account_usage.policies_in_force
WHERE query_date BETWEEN :from_day AND :to_day
GROUP BY ALL
ORDER BY shown_all DESC, reads DESC, user_name, object_name, column_name, policy_name
""",
)

_SHOWN_ALL = Figure(
    "protected_data_shown",
    "Reads that were shown all",
    "In which statements did a policy hide nothing, and what were they for?",
    """
SELECT p.query_start_time, p.user_name, q.role_name, p.object_name,
  array_join(sort_array(collect_set(p.column_name)), ', ') AS columns,
  array_join(sort_array(collect_set(p.policy_name)), ', ') AS policies, q.purpose, q.query_text
FROM account_usage.policies_in_force p
JOIN account_usage.query_history q ON q.query_id = p.query_id AND q.start_time = p.query_start_time
  AND q.query_date = p.query_date
WHERE p.query_date BETWEEN :from_day AND :to_day AND NOT p.changed_result
GROUP BY p.query_id, p.query_start_time, p.user_name, q.role_name, p.object_name, q.purpose, q.query_text
ORDER BY p.query_start_time DESC, p.object_name, p.query_id
""",
)

_UNPROTECTED = Figure(
    "read_without_its_policy",
    "Read without its policy",
    "Which of these columns and tables were read while their policy was not in force: before it was set,"
    " or after?",
    """
WITH protected AS (
  SELECT DISTINCT object_id, column_name, policy_name
  FROM account_usage.policies_in_force
  WHERE query_date BETWEEN :from_day AND :to_day
)
SELECT r.user_name, r.object_name, r.column_name, p.policy_name, count(DISTINCT r.query_id) AS reads,
  min(r.query_start_time) AS first_read, max(r.query_start_time) AS last_read
FROM account_usage.columns_read r
JOIN protected p ON p.object_id = r.object_id
LEFT JOIN account_usage.policies_in_force f
  ON f.query_id = r.query_id AND f.query_date = r.query_date AND f.object_id = r.object_id
    AND f.policy_name = p.policy_name
WHERE r.query_date BETWEEN :from_day AND :to_day AND f.query_id IS NULL
  AND (p.column_name IS NULL OR p.column_name = r.column_name)
GROUP BY r.user_name, r.object_name, r.column_name, p.policy_name
ORDER BY reads DESC, r.user_name, r.object_name, r.column_name
""",
)

_COPIES = Figure(
    "protected_data_copied",
    "Where protected data went",
    "Into which columns did statements write values of protected columns?",
    """
WITH protected AS (
  SELECT DISTINCT object_id, column_name
  FROM account_usage.policies_in_force
  WHERE query_date BETWEEN :from_day AND :to_day AND column_name IS NOT NULL
)
SELECT w.source_object_name, w.source_column_name, w.object_name AS written_to, w.column_name AS into_column,
  w.user_name, count(DISTINCT w.query_id) AS statements, max(w.query_start_time) AS last_written
FROM account_usage.columns_written w
JOIN protected p ON p.object_id = w.source_object_id AND p.column_name = w.source_column_name
WHERE w.query_date BETWEEN :from_day AND :to_day
GROUP BY 1, 2, 3, 4, 5
ORDER BY last_written DESC, 1, 2, 3, 4, 5
""",
)

PROTECTION_CHANGES = Figure(
    "protection_changes",
    "Changes of policies and tags",
    "Who made, changed, set or took off a masking policy, a row access policy or a tag?",
    """
SELECT query_start_time, user_name, operation_type, object_domain, object_name, query_text
FROM account_usage.ddl_history
WHERE query_date BETWEEN :from_day AND :to_day
  AND (object_domain IN ('MASKING POLICY', 'ROW ACCESS POLICY', 'TAG')
    OR properties LIKE '%"maskingPolicies"%'
    OR properties LIKE '%"rowAccessPolicies"%' OR properties LIKE '%"tags"%')
ORDER BY query_start_time DESC, object_name, query_id
""",
)

SENSITIVE_DATA = Kind(
    "sensitive-data",
    "Who read sensitive data",
    "Sensitive is what had a masking policy or a row access policy in force when somebody read it. The"
    " report says who read it, what they saw, where it was copied to, and who changed its protection.",
    (
        Section(
            "Protected data",
            "A policy counts wherever it stood between a reader and the data, on a view in between as well.",
            (_PROTECTED, _OUTCOMES, _OVER_TIME, _BY_HOUR),
        ),
        Section(
            "Readers",
            "Shown all: the policy was in force and could change nothing of what this user saw.",
            (_READERS, _SHOWN_ALL, _UNPROTECTED),
        ),
        Section(
            "Copies", "Columns are followed from statement to statement by their names.", (_COPIES, EXPORTS)
        ),
        Section("Protection", "", (PROTECTION_CHANGES,)),
    ),
)
