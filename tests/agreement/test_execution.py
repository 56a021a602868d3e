"""Lineage checked by running: what an output does not claim as a source may change without it.

sqlglot checks its optimizer by executing both sides. Here each query of the fixtures runs over two worlds
that differ in every column which an output claims neither as a source nor as shaping it: its values must be
the same.
"""

from __future__ import annotations

import pytest

from lineage import analyze

from .cases import QUERIES, VIEWS, fixtures

pytestmark = pytest.mark.spark

# Each table's columns, a struct's fields apart, and the SQL that puts them together.
LEAVES = {
    "t": ("a", "b", "c", "st.x", "st.y.z", "m", "arr.p", "arr.q"),
    "u": ("a", "x", "k"),
    "w": ("id", "v"),
}
ROWS = {
    "t": [
        (1, 2, 2, 5, 6, 7, 8, 9),
        (2, 1, 3, 6, 7, 8, 9, 1),
        (3, 3, 4, 7, 8, 9, 1, 2),
        (4, 2, 5, 8, 9, 1, 2, 3),
    ],
    "u": [(1, 2, 2), (2, 3, 1), (3, 4, 3), (4, 9, 4)],
    "w": [(1, 2), (2, 4), (3, 1), (5, 3)],
}
SHAPES = {
    "t": "{0} AS a, {1} AS b, {2} AS c, named_struct('x', {3}, 'y', named_struct('z', {4})) AS st,"
    " map('k', {5}) AS m,"
    " array(named_struct('p', {6}, 'q', {7}), named_struct('p', {6} + 1, 'q', {7} + 1)) AS arr",
    "u": "{0} AS a, {1} AS x, {2} AS k",
    "w": "{0} AS id, {1} AS v",
}


class World:
    """The tables of the fixtures as views over values, any of whose columns can be changed."""

    def __init__(self, spark):
        self.spark = spark.newSession()
        self.spark.sql("DROP SCHEMA IF EXISTS s CASCADE")  # of another module
        self.spark.sql("CREATE SCHEMA s")
        self.spark.sql("USE s")
        self._now = {}
        self.change(frozenset())
        self.spark.udf.register("f", lambda n: n, "int")
        self.spark.udf.register("py", lambda n, s: f"{n}{s}", "string")
        for statement in VIEWS:
            self.spark.sql(statement)

    def change(self, leaves):
        """Let these columns, and no others, hold other values."""
        for table, columns in LEAVES.items():
            changed = frozenset(leaf for leaf in columns if (table, leaf) in leaves)
            if self._now.get(table) != changed:
                self._now[table] = changed
                self._define(table, changed)

    def _define(self, table, changed):
        rows = [
            [
                value * 7 + 20 if leaf in changed else value
                for leaf, value in zip(LEAVES[table], row, strict=True)
            ]
            for row in ROWS[table]
        ]
        names = [f"c{at}" for at in range(len(rows[0]))]
        values = ", ".join(str(tuple(row)) for row in rows)
        self.spark.sql(
            f"CREATE OR REPLACE VIEW {table} AS SELECT {SHAPES[table].format(*names)}"
            f" FROM VALUES {values} AS q({', '.join(names)})"
        )

    def answer(self, sql):
        """The values of each output, in an order that is theirs alone."""
        frame = self.spark.sql(sql)
        rows = frame.collect()
        return [sorted(repr(row[at]) for row in rows) for at in range(len(frame.columns))]


@pytest.fixture(scope="module")
def world(spark):
    """The world, gone afterwards."""
    made = World(spark)
    yield made
    made.spark.sql("DROP SCHEMA s CASCADE")


def claimed(output):
    """The leaves that an output says its values or rows come from."""
    paths = {
        (ref.object_name.rpartition(".")[2], ".".join((ref.column_name, *ref.field_path)))
        for ref in (*output.base_sources, *output.indirect_sources)
    }
    return frozenset(
        (table, leaf)
        for table, leaves in LEAVES.items()
        for leaf in leaves
        if any(table == owner and f"{leaf}.".startswith(f"{path}.") for owner, path in paths)
    )


ALL = frozenset((table, leaf) for table, leaves in LEAVES.items() for leaf in leaves)


LONG = pytest.mark.long("two of three queries: a third of them meets each rule")
CASES = [
    pytest.param(case, id=case.name, marks=() if number % 3 == 0 else LONG)
    for number, case in enumerate(QUERIES)
]


@pytest.mark.parametrize("case", CASES)
def test_an_output_depends_on_nothing_that_it_does_not_claim(world, case):
    """The values of an output are the same when all else than its sources and what shaped it is changed."""
    sql = case.sql.rstrip(";")
    claims = [claimed(output) for output in analyze(sql, fixtures.catalog()).columns]
    world.change(frozenset())
    before = world.answer(sql)
    for claim in set(claims):
        world.change(ALL - claim)
        after = world.answer(sql)
        same = [before[at] == after[at] for at, other in enumerate(claims) if other == claim]
        assert all(same), (case.rule, sorted(claim))
