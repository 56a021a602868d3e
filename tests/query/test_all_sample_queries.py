"""Each sample query is answered without Spark, also on a root on which nothing has happened yet."""

from __future__ import annotations

import pytest

from audit.core.errors import QueryFailed
from audit.store.views import tables_below
from audit.time_travel.retention.storage_names import TABLES
from lineage.sql.mentions import named_in
from views.query_file import sample, sample_names


@pytest.mark.parametrize("name", sample_names())
def test_an_empty_root(empty, name):
    """Nothing fails for want of rows; what stands on storage says what measures it."""
    query = sample(name)
    if any(TABLES in tables_below(view) for view in named_in(query.sql, "account_usage")):
        with pytest.raises(QueryFailed, match="that measures it"):
            empty.ask(query.sql, query.arguments({}))
    else:
        found = empty.ask(query.sql, query.arguments({})).rows
        # The role of the administrators is there from the beginning.
        assert [row[0] for row in found] == (["ACCOUNTADMIN"] if name == "roles_without_members" else [])
