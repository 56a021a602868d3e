"""A report of some days opens the files of these days, whatever a year has beside them."""

from __future__ import annotations

from datetime import date

import pytest

from audit.report.binding import bound
from audit.report.kinds import KINDS
from audit.report.kinds.records import RECORDS
from audit.report.period import Period
from tests.query.days_opened import days_opened

from .conftest import NAMES

WEEK = Period(date(2026, 11, 6), date(2026, 11, 9))
FIGURES = {
    figure.name: (kind, figure) for kind in KINDS for figure in (*RECORDS.figures, *KINDS[kind].figures)
}
SINCE = {"integrity", "verifications", "deleted_in_numbers", "deleted_by_retention"}
"""What was verified and deleted after the period, was of it, too."""
OF_NO_DAY = {
    "roles_held", "privileges_held", "storage_by_state", "storage_by_table", "retention_of_tables",
}  # fmt: skip
"""Tables that have no days."""
OF_ALL_DAYS = {"records_kept", "lineage_kept", "users"}
"""How far back the tables go, and since when a user is known, is asked of all days."""


@pytest.mark.parametrize("name", sorted(FIGURES.keys() - OF_ALL_DAYS))
def test_a_figure(tables, name):
    """Joins and exploded arrays are no obstacle."""
    kind, figure = FIGURES[name]
    about = KINDS[kind].find(tables, NAMES[kind], WEEK) if kind in NAMES else None
    values = {**WEEK.values, **(about.values if about else {})}
    opened = days_opened(tables, bound(figure.sql, values, "account_usage"))
    assert bool(opened) == (name not in OF_NO_DAY)
    last = date.max if name in SINCE else WEEK.last
    assert {day for day in opened if not WEEK.first <= day <= last} == set()


@pytest.mark.parametrize("name", sorted(OF_ALL_DAYS))
def test_a_figure_of_all_days(tables, name):
    """It would be wrong otherwise."""
    _, figure = FIGURES[name]
    opened = days_opened(tables, bound(figure.sql, WEEK.values, "account_usage"))
    assert min(opened) < WEEK.first
