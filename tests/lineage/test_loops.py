"""A FOR loop of a script: what shapes its rows shapes what the statements inside it write."""

from __future__ import annotations

import pytest

from lineage import MemoryCatalog, analyze_script

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int", "c": "int"}, "s.w": {"id": "int", "v": "int"}},
    {"s.kept": "SELECT a, b FROM t WHERE c > 0"},
    current_schema="s",
)


def written(script):
    """The names of the columns that shaped the rows of each written object."""
    return [
        [f"{ref.object_name.rpartition('.')[2]}.{ref.column_name}" for ref in target.base_indirect]
        for access in analyze_script(script, CATALOG)
        for target in access.objects_modified
    ]


@pytest.mark.parametrize(
    ("query", "shaped"),
    [
        ("SELECT a FROM t WHERE c > 1", ["t.c"]),
        ("SELECT a FROM t WHERE a > 1", ["t.a"]),  # which its rows have as a value, too
        ("SELECT a FROM kept", ["t.c"]),
        ("SELECT a, sum(b) AS n FROM t GROUP BY a", ["t.a"]),
        ("SELECT a FROM t", []),
    ],
)
@pytest.mark.parametrize(
    "statement", ["INSERT INTO w (id) VALUES (r.a)", "DELETE FROM w", "UPDATE w SET v = 1"]
)
def test_what_shapes_the_rows_of_a_loop(query, shaped, statement):
    """A statement runs as often as the loop has rows; behind the loop it runs once."""
    script = f"BEGIN FOR r AS {query} DO {statement}; END FOR; INSERT INTO w (id) VALUES (1); END"
    assert written(script) == [shaped, []]


def test_loops_in_loops():
    """Both shape what is written inside of both."""
    script = (
        "BEGIN FOR r AS SELECT a FROM t WHERE b > 1 DO FOR q AS SELECT id FROM w WHERE v > 1 DO"
        " INSERT INTO w (id) VALUES (r.a); END FOR; INSERT INTO w (id) VALUES (r.a); END FOR; END"
    )
    assert written(script) == [["t.b", "w.v"], ["t.b"]]
