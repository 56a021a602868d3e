"""A bound on its time keeps a view to these days in Spark, whatever else is asked of it."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from audit.query.tables import TIMES
from audit.store.tables import AUDIT_TABLES
from benchmarks import year_data
from tests.views.three_days import ASKED, DAYS, GROUPED, RARE, SCHEMA

pytestmark = pytest.mark.spark

FEW = 8
"""A column with so many values at most says of what kind a row is. A part of a view may have one kind."""


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
