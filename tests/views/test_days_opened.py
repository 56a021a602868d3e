"""A bound on its time keeps a view to these days in Spark, whatever else is asked of it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

import views
from audit.query.tables import TIMES
from audit.store.registration import register_tables
from audit.store.tables import AUDIT_TABLES
from audit.store.views import create_views, with_those_below
from benchmarks import year_data

pytestmark = pytest.mark.spark

SCHEMA = "three_days"
DAYS = 3
MEASURED = frozenset({"data_quality", "tagged_data_spread"})
"""They need a measurement."""
GROUPED = {
    "failed_and_denied_attempts", "aggregate_query_history", "aggregate_access_history", "top_readers",
    "top_writers", "users_by_day", "sessions_by_day",
}  # fmt: skip
"""Their time is made of those of many statements, so the day is asked for."""
RARE = {"logging_history"}
"""So few statements have no row of them."""
OF_ALL_DAYS = {"first_time_access", "policy_changes"}
"""Each row says what was before it."""
ASKED = sorted({name for name in views.VIEWS if name in TIMES} - MEASURED - OF_ALL_DAYS)
FEW = 8
"""A column with so many values at most says of what kind a row is. A part of a view may have one kind."""


@pytest.fixture(scope="module")
def three_days(spark, tmp_path_factory):
    """The views over three days of statements of all kinds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(year_data, "DATA", tmp_path_factory.mktemp("data"))
        root = year_data.history(spark, DAYS, 1_000, lambda _: None)
    spark.sql(f"CREATE SCHEMA {SCHEMA}")
    register_tables(spark, str(root), SCHEMA)
    create_views(spark, SCHEMA, with_those_below(ASKED))
    yield spark
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def days_of(frame):
    """The days of the files of its scans, once planned, without those of which the run leaves some out."""
    names = "|".join(table.name for table in AUDIT_TABLES)
    return {
        found.group(1)
        for path in frame.inputFiles()
        if (found := re.search(rf"/(?:{names})/query_date=([0-9-]+)/", path))
    }


@pytest.mark.parametrize("name", ASKED)
def test_days_of_the_bound_are_opened(three_days, name):
    """Also where one part of a view has a value. Spark may then lose the bound on one side of a join."""
    day = year_data.FIRST_DAY + timedelta(days=DAYS - 1)
    when = TIMES[name]
    bound = f"{when} >= TIMESTAMP'{day:%F %T}'"
    if name in GROUPED:
        bound = f"query_date = DATE'{day:%F}'"
    text = f"SELECT * FROM {SCHEMA}.{name} WHERE {bound}"
    frame = three_days.sql(text)
    assert days_of(frame) == {f"{day:%F}"}
    found = frame.collect()
    assert bool(found) == (name not in RARE)
    for column in (field.name for field in frame.schema.fields if field.dataType.typeName() == "string"):
        values = {row[column] for row in found} - {None}
        for value in values if len(values) <= FEW else ():
            asked = three_days.sql(f"{text} AND {column} = :value", args={"value": value})
            assert days_of(asked) == {f"{day:%F}"}, (column, value)
