"""Each sample query is answered without Spark, also on a root on which nothing has happened yet."""

from __future__ import annotations

import pytest

from views.query_file import sample, sample_names


@pytest.mark.parametrize("name", sample_names())
def test_an_empty_root(empty, name):
    """Nothing fails for want of rows."""
    query = sample(name)
    found = empty.ask(query.sql, query.arguments({})).rows
    # The role of the administrators is there from the beginning.
    assert [row[0] for row in found] == (["ACCOUNTADMIN"] if name == "roles_without_members" else [])
