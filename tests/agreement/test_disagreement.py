"""What counts as a disagreement of the two engines on a live statement."""

from __future__ import annotations

import pytest

from audit.analysis.analyst import disagreement
from lineage import MemoryCatalog, analyze

CATALOG = MemoryCatalog({"s.t": {"a": "int"}, "s.u": {"b": "int"}}, current_schema="s")


def read(*names):
    """The relations that a plan has read, as the analyst has them."""
    return {f"spark_catalog.s.{name}": CATALOG.relation(("s", name)) for name in names}


@pytest.mark.parametrize(
    "sql",
    ["CREATE TEMPORARY VIEW v AS SELECT * FROM t", "CREATE VIEW v AS SELECT a FROM t", "UNCACHE TABLE t"],
)
def test_statement_that_only_names_a_table_agrees_with_its_plan(sql):
    """The plan of a definition holds the relation; neither engine says that it is read."""
    assert disagreement(analyze(sql, CATALOG), read("t")) is None


def test_table_that_the_text_does_not_name_is_a_disagreement():
    """Spark read another table than the text makes one think: the record says which."""
    found = disagreement(analyze("SELECT a FROM t", CATALOG), read("t", "u"))
    assert found == "Spark's plan reads spark_catalog.s.u, the text does not name it"
