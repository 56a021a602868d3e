"""Which days of the audit tables a query opens."""

from __future__ import annotations

import re
from datetime import date


def days_opened(tables, query, values=None):
    """The days of the files that DuckDB has opened, as its plan says after the run."""
    explain = f"EXPLAIN (ANALYZE, FORMAT json) {tables.translated(query)}"
    ((_, plan),) = tables.connection.execute(explain, values or {}).fetchall()
    return {date.fromisoformat(day) for day in re.findall(r"query_date=([0-9-]+)", plan)}
