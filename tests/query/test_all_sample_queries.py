"""Each sample query is answered without Spark, also on a root on which nothing has happened yet."""

from __future__ import annotations

import pytest

from audit.core.errors import QueryFailed
from audit.query.tables import opened
from views.query_file import sample, sample_names

from .roots import add_catalog, make_root


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Empty tables, and an empty catalog; storage was not measured."""
    root = make_root(tmp_path_factory.mktemp("root"), {})
    add_catalog(root, [])
    with opened(root) as found:
        yield found


@pytest.mark.parametrize("name", sample_names())
def test_an_empty_root(tables, name):
    """Nothing fails for want of rows; what stands on storage says what measures it."""
    query = sample(name)
    if "account_usage.table_storage" in query.sql:
        with pytest.raises(QueryFailed, match="that measures it"):
            tables.ask(query.sql, query.arguments({}))
    else:
        found = tables.ask(query.sql, query.arguments({})).rows
        # The role of the administrators is there from the beginning.
        assert [row[0] for row in found] == (["ACCOUNTADMIN"] if name == "roles_without_members" else [])
