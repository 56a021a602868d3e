"""Names to columns, as Spark resolves them."""

import pytest

from lineage.resolve.columns import qualified, resolve_name


def reasons(trace):
    """Why the analysis is partial."""
    return list(trace.partial_reasons)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("a", "s.t.a"),
        ("T.A", "s.t.a"),
        ("s.t.b", "s.t.b"),
        ("spark_catalog.s.t.b", "s.t.b"),
        ("st.x", "s.t.st.x"),
        ("t.st.y.z", "s.t.st.y.z"),
        ("s.t.st.y.z", "s.t.st.y.z"),
    ],
)
def test_a_name_is_found_by_column_alias_and_full_name(trace, over, sources, name, found):
    """Whatever the case of its letters, down to the field of a struct."""
    assert sources(resolve_name(trace, name.split("."), over("s.t"))) == [found]
    assert reasons(trace) == []


def test_an_alias_hides_the_name_of_the_table(trace, over):
    """`SELECT t.a FROM t AS x` names nothing."""
    scope = over("s.t AS x")
    assert qualified(["x"], scope) is scope.sources[0]
    assert qualified(["t"], scope) is qualified(["s", "t"], scope) is None
    assert resolve_name(trace, ["t", "a"], scope) is None


def test_the_inner_scope_hides_the_outer(trace, over, sources):
    """A subquery's own column comes first; what it lacks is the outer query's."""
    inner = over("s.u", outer=over("s.t"))
    assert sources(resolve_name(trace, ["a"], inner)) == ["s.u.a"]
    assert sources(resolve_name(trace, ["b"], inner)) == ["s.t.b"]


def test_two_tables_with_the_column_are_ambiguous(trace, over, sources):
    """Spark refuses it, so the analysis is partial; the first one stands for it."""
    assert sources(resolve_name(trace, ["a"], over("s.t", "s.u"))) == ["s.t.a"]
    assert reasons(trace) == ["ambiguous column a"]


def test_an_unknown_name_makes_the_analysis_partial(trace, over):
    """It leads to no column and says so."""
    assert resolve_name(trace, ["nowhere"], over("s.t")) is None
    assert reasons(trace) == ["unknown column nowhere"]


@pytest.mark.parametrize("name", [["current_date"], ["_metadata", "file_path"], ["session", "x"]])
def test_what_spark_reads_as_no_column_is_none(trace, over, name):
    """Functions without parentheses, the hidden column of files, session variables."""
    assert resolve_name(trace, name, over("s.t")) is None
    assert reasons(trace) == []


def test_a_relation_of_unknown_columns_gets_the_column(trace, over, sources):
    """The statement names it, so it must be there; beside another table nobody can be sure."""
    assert sources(resolve_name(trace, ["c", "f"], over("s.open"))) == ["s.open.c.f"]
    assert reasons(trace) == []
    assert sources(resolve_name(trace, ["d"], over("s.t", "s.open"))) == ["s.open.d"]
    assert reasons(trace) == ["column d of a relation with unknown columns"]
