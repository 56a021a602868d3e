"""The views over three days of statements of all kinds, for tests of what they open."""

from __future__ import annotations

from audit.query.tables import TIMES
from audit.store.registration import register_tables
from audit.store.views import OF_LINEAGE, OF_RECORDS, create_views, with_those_below
from benchmarks import year_data

SCHEMA = "three_days"
DAYS = 3
GROUPED = {
    "failed_and_denied_attempts", "aggregate_query_history", "aggregate_access_history", "top_readers",
    "top_writers", "users_by_day", "sessions_by_day",
}  # fmt: skip
"""Their time is made of those of many statements, so the day is asked for."""
RARE = {"logging_history"}
"""So few statements have no row of them."""
OF_ALL_DAYS = {"first_time_access", "policy_changes"}
"""Each row says what was before it."""
ASKED = sorted({name for name in (*OF_RECORDS, *OF_LINEAGE) if name in TIMES} - OF_ALL_DAYS)


def make(spark, folder, patch):
    """Makes the tables in a folder, and the views in `SCHEMA`."""
    patch.setattr(year_data, "DATA", folder)
    root = year_data.history(spark, DAYS, 1_000, lambda _: None)
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    register_tables(spark, str(root), SCHEMA)
    create_views(spark, SCHEMA, with_those_below((*ASKED, *OF_ALL_DAYS)))
