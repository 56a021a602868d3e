"""The view columns_read on Spark, where it has a text of its own, against the model for DuckDB."""

from __future__ import annotations

from collections import Counter

import pytest

from audit.spark.sessions import own_session
from audit.store.views import temporary_definition
from tests.query.roots import make_root
from tests.query.test_columns_read import modelled, records

__all__ = ["records"]

pytestmark = pytest.mark.spark


def test_a_row_for_each_column(spark, tmp_path, records):
    """Once, with both flags."""
    root = make_root(tmp_path, {"access_history": records})
    own = own_session(spark)
    own.read.format("delta").load(f"{root}/access_history").createOrReplaceTempView("access_history")
    own.sql(temporary_definition("columns_read"))
    found = own.sql(
        "SELECT query_id, object_domain, object_name, object_id, column_name, column_id, is_direct, is_base"
        " FROM columns_read"
    )
    assert Counter(map(tuple, found.collect())) == Counter(
        row for record in records for row in modelled(record)
    )
