"""What a star stands for."""

import pytest

from lineage.resolve.expressions import resolve_expression
from lineage.resolve.stars import expand_star, expand_struct


def star(trace, node, text, scope):
    """The names of the columns of a star."""
    found = node(f"SELECT {text}").expressions[0]
    return [column.name for column in expand_star(trace, found, scope, resolve_expression)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("*", ["a", "b", "st", "arr", "a", "k", "m"]),
        ("u.*", ["a", "k", "m"]),
        ("s.u.*", ["a", "k", "m"]),
        ("st.*", ["x", "y"]),
        ("* EXCEPT (a, st)", ["b", "arr", "k", "m"]),
        ("* EXCEPT (u.a)", ["a", "b", "st", "arr", "k", "m"]),
        ("u.* EXCEPT (u.a)", ["k", "m"]),
    ],
)
def test_a_star_stands_for_columns_in_order(trace, over, node, text, names):
    """All tables in the order of FROM, EXCEPT left out of the table that it names."""
    assert star(trace, node, text, over("s.t", "s.u")) == names
    assert trace.partial_reasons == {}


def test_replace_puts_another_value_in_the_place(trace, over, node, sources):
    """`* REPLACE (k + 1 AS a)`: the column a is made of k."""
    found = node("SELECT * REPLACE (k + 1 AS a)").expressions[0]
    columns = expand_star(trace, found, over("s.u"), resolve_expression)
    assert [(c.name, sources(c)) for c in columns][:2] == [("a", ["s.u.k"]), ("k", ["s.u.k"])]


@pytest.mark.parametrize(
    ("text", "tables", "reason"),
    [
        ("*", [], "star without FROM"),
        ("*", ["s.open"], "star over unknown columns"),
        ("open.*", ["s.open"], "star over unknown columns"),
        ("* REPLACE (1 AS nope)", ["s.u"], "star with REPLACE of an unknown column"),
        ("a.*", ["s.u"], "star over a struct of unknown fields"),
    ],
)
def test_a_star_over_what_is_not_known_is_partial(trace, over, node, text, tables, reason):
    """The reason says why."""
    star(trace, node, text, over(*tables))
    assert reason in trace.partial_reasons


def test_a_star_over_no_column_has_none(trace):
    """Nothing is no struct."""
    assert expand_struct(trace, None) == []
    assert list(trace.partial_reasons) == ["star over what is no column"]
