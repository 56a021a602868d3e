"""The one Spark of a test process: what a module leaves is not in the way of the next."""

from __future__ import annotations

import pytest

from tests.sessions import NO_TABLES, attached, in_default

pytestmark = pytest.mark.spark


def test_a_module_leaves_the_default_schema_as_it_found_it(spark, tmp_path):
    """Whatever it made there: the order of the modules is another one on each machine."""
    before = in_default(spark)
    with attached(spark, tmp_path, **NO_TABLES) as session:
        session.sql("CREATE TABLE left_t (a INT) USING delta")
        session.sql("CREATE TABLE left_u (a INT) USING parquet")
        session.sql("CREATE VIEW left_v AS SELECT a FROM left_t")
        session.sql("CREATE FUNCTION left_f(n INT) RETURNS INT RETURN n + 1")
        session.sql("CREATE TEMP VIEW left_w AS SELECT 1 AS one")
        assert len(in_default(spark) - before) == 4
    assert in_default(spark) == before
