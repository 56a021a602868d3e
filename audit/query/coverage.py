"""The share of statements that were analysed in full: the one definition of it over the tables.

In: the audit tables of a root, a period. Out: how many were, from what, and how many were not.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from audit.query.answer import Source

COVERAGE = """
SELECT floor(1000 * sum(if(analysis = 'full', calls, 0)) / sum(calls)) / 10 AS full_percent,
  CAST(coalesce(sum(calls), 0) AS BIGINT) AS succeeded,
  CAST(coalesce(sum(calls) FILTER (WHERE analysis = 'full' AND captured_by = 'text'), 0) AS BIGINT)
    AS full_from_text,
  CAST(coalesce(sum(calls) FILTER (WHERE analysis = 'full' AND captured_by <> 'text'), 0) AS BIGINT)
    AS full_from_plan,
  count_if(analysis = 'partial') AS partial,
  count_if(analysis = 'opaque') AS opaque,
  count_if(analysis IS NULL) AS without_record
FROM account_usage.statements
WHERE query_date BETWEEN :from_day AND :to_day AND execution_status = 'SUCCESS'
"""
"""Reports have it on their cover. The percentage is rounded down, so 100 says that none is missing; it is
NULL where no statement succeeded."""


def coverage(source: Source, first: date = date.min, last: date = date.max) -> dict[str, Any]:
    """The answer to `COVERAGE`, by column.

    Args:
        source: what reads the audit tables.
        first: the first day (UTC).
        last: the last day (UTC), a part of the period.

    Raises:
        QueryFailed: one of the two tables of statements is not there.
    """
    text = COVERAGE.replace("account_usage.", f"{source.schema}.")
    # As texts: PySpark (4.2) hands a date of the year 1 to Java as "1-01-01", which is none there.
    answer = source.ask(text, {"from_day": first.isoformat(), "to_day": last.isoformat()})
    return dict(zip(answer.columns, answer.rows[0], strict=True))
