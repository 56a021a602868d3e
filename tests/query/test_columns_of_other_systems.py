"""Views as other systems have them have their columns, in their order; ours come after them."""

from __future__ import annotations

import pytest

from audit.store.tables import ACCESS_HISTORY
from audit.store.views import description

from .columns_of_others import COLUMNS as OF_OTHERS
from .columns_of_snowflake import COLUMNS

VIEW_OF = {"query_history": "snowflake_query_history"}
"""The view where it has another name than the page."""
WITHOUT = ["event_source", "additional_properties", "invoker_identity", "agents_info"]
"""What access_history leaves out: docs/queries-from-other-systems.md says so."""


@pytest.mark.parametrize("page", [page for page in COLUMNS if page != "access_history"])
def test_a_view(page):
    """All of the page, then ours."""
    theirs = COLUMNS[page].split()
    assert list(description(VIEW_OF.get(page, page)).columns)[: len(theirs)] == theirs


@pytest.mark.parametrize("view", OF_OTHERS)
def test_a_view_of_unity_catalog_or_bigquery(view):
    """All of theirs, then ours."""
    theirs = OF_OTHERS[view].split()
    assert list(description(view).columns)[: len(theirs)] == theirs


def test_access_history():
    """The table has them in the same order, with ours between."""
    theirs = [column for column in COLUMNS["access_history"].split() if column not in WITHOUT]
    assert [name for name, _, _ in ACCESS_HISTORY.columns if name in theirs] == theirs
