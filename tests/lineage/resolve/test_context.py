"""The state of one analysis."""

import pytest

from lineage.model import Function
from lineage.resolve.query import new_trace
from lineage.resolve.scope import CALLED_BASE, CALLED_DIRECT, SourceSet


def test_a_relation_has_one_entry(trace):
    """However it is named; each version of it is another."""
    one = trace.entry(("s", "t"))
    assert trace.entry(("spark_catalog", "s", "T")) is one
    assert trace.entry(("s", "t"), 3) is not one
    assert trace.entry(("s", "t"), 3).version == 3


def test_an_unknown_table_makes_the_analysis_partial(trace):
    """Its entry has the full name and unknown columns."""
    entry = trace.entry(("nope",))
    assert (entry.relation.name, entry.open) == ("spark_catalog.default.nope", True)
    assert list(trace.partial_reasons) == ["unknown table nope"]


@pytest.mark.parametrize(("text", "parts"), [("a.`b.c`", ["a", "b.c"]), ("a..b", ["a..b"])])
def test_a_literal_is_split_or_makes_the_analysis_partial(trace, text, parts):
    """IDENTIFIER('a..b') names nothing."""
    assert trace.split_literal(text) == parts
    assert bool(trace.partial_reasons) == (parts == [text])


def test_what_a_view_names_is_no_direct_object(trace):
    """Inside a view nothing counts as the statement's own; outside all is as before."""
    with trace.inside(("c", "x")):
        assert (trace.is_own_text, trace.depth, trace.current) == (False, 1, ("c", "x"))
        trace.ledger.direct_entries.setdefault(trace.entry(("s", "t")))
    assert (trace.is_own_text, trace.depth, trace.current) == (True, 0, None)
    assert trace.ledger.direct_entries == {}
    assert [entry.relation.name for entry in trace.named_inside] == ["c.s.t"]


def test_a_function_is_direct_where_it_is_named_and_base_where_its_body_is_no_sql(trace):
    """A Python function is both."""
    sql, python = Function("c.s.f", body="RETURN 1"), Function("c.s.g")
    assert trace.record_call(sql)["c.s.f"][1] == CALLED_DIRECT
    assert trace.record_call(python)["c.s.g"][1] == CALLED_DIRECT | CALLED_BASE
    with trace.inside(None):
        assert trace.record_call(sql) == {}
        assert trace.record_call(python)["c.s.g"][1] == CALLED_BASE


def test_a_separate_ledger_leaves_the_first_alone(trace):
    """The definition of a view reads nothing."""
    own = trace.ledger
    with trace.separate_ledger() as other:
        assert trace.ledger is other is not own
    assert trace.ledger is own


def test_two_analyses_share_nothing(trace):
    """Each begins anew."""
    trace.mark_partial("x")
    assert new_trace(trace.catalog).partial_reasons == {}


def test_direct_and_base_sources_are_one_set_until_they_differ(trace):
    """Without views one dict serves for both; a view's column separates them."""
    table = trace.entry(("s", "t"))
    column = table.column(table.relation.columns[0])
    found, view = SourceSet(), SourceSet()
    found.merge(column)
    assert found.direct is found.base
    view.separate()
    view.base.update(column.base)
    found.merge(view)
    assert found.direct is not found.base
    assert found.direct == found.base == column.base
