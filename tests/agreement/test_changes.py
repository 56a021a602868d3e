"""Lineage of writes checked by running: a column of a target changes only with what it claims.

Each random statement or script runs again over tables whose columns hold other values, but for those that a
column of its target claims, as a source or as shaping its rows: that column must hold the same as before.

The short form runs a few. The long one looks for new ones, as many as RANDOM_CHANGES says.
"""

from __future__ import annotations

import os
import random

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lineage import analyze_script

from .random_scripts import changing_statement, script
from .random_statements import FUNCTIONS, TABLES, VIEWS
from .test_statements import CATALOG

pytestmark = pytest.mark.spark

FEW, SEARCH = 1, int(os.environ.get("RANDOM_CHANGES") or 150)
ROWS = 4
MADE = "made"
MAKERS = {
    "STRUCT": "named_struct('a', {0}, 'b', {0} + 1)",
    "ARRAY": "array(named_struct('a', {0}, 'b', {0} + 1), named_struct('a', {0} + 1, 'b', {0}))",
    "MAP": "map('k', {0}, 'l', {0} + 1)",
}
EVERYTHING = frozenset((table, column) for table, columns in TABLES.items() for column in columns)


class World:
    """The tables of the random statements: views over values, but for those that a statement writes."""

    def __init__(self, spark):
        self.session = spark.newSession()
        for text in ("DROP SCHEMA IF EXISTS rs CASCADE", "CREATE SCHEMA rs", "USE rs"):
            self.session.sql(text)
        self._kinds = {}
        self.fill(frozenset(), frozenset())
        for name, query in VIEWS.items():
            self.session.sql(f"CREATE VIEW {name} AS {query}")
        for text in FUNCTIONS.values():
            self.session.sql(text)

    def fill(self, written, changed):
        """Let the tables hold their values; those of the columns in `changed` are others."""
        self.session.sql(f"DROP TABLE IF EXISTS {MADE}")
        for number, (table, columns) in enumerate(TABLES.items()):
            if table in self._kinds:
                self.session.sql(f"DROP {self._kinds[table]} {table}")
            kind = self._kinds[table] = "TABLE" if table in written else "VIEW"
            names = [f"v{at}" for at in range(len(columns))]
            made = ", ".join(
                f"{MAKERS.get(of.partition('<')[0], '{0}').format(v)} AS {name}"
                for v, (name, of) in zip(names, columns.items(), strict=True)
            )
            rows = ", ".join(
                str(
                    tuple(value(number, row, at, (table, name) in changed) for at, name in enumerate(columns))
                )
                for row in range(ROWS)
            )
            using = "USING delta " if kind == "TABLE" else ""
            self.session.sql(
                f"CREATE {kind} {table} {using}AS SELECT {made} FROM VALUES {rows} AS q({', '.join(names)})"
            )

    def answer(self, sql, written, changed=frozenset()):
        """The values of each column of each table that a statement has written, sorted."""
        self.fill(written, changed)
        self.session.sql(sql).collect()
        found = {}
        for table in written:
            rows = self.session.table(table).collect()
            for name in rows[0].__fields__ if rows else ():
                found[table, name] = sorted(repr(row[name]) for row in rows)
        return found


def value(table, row, column, is_changed):
    """Small numbers, so that rows meet; each row of a table has a first column of its own."""
    plain = row if column == 0 else (table + row * (column + 1)) % 4
    return plain * 7 + 20 if is_changed else plain


def claims(accesses):
    """The columns of the tables as they were at first, for each column as it is in the end."""
    found = {place: {place} for place in EVERYTHING}

    def reach(refs):
        places = ((ref.object_name.rpartition(".")[2], ref.column_name) for ref in refs)
        return {below for place in places for below in found.get(place, ())}

    for _ in accesses:  # a loop comes back to its first statement
        rows = reach(
            ref for access in accesses for column in access.columns for ref in column.indirect_sources
        )
        for access in accesses:
            for target in access.objects_modified:
                table = target.name.rpartition(".")[2]
                rows_of = rows | reach(target.base_indirect)
                written = {c.name: reach((*c.base_sources, *c.base_indirect)) for c in target.columns}
                for name in {*written, *(column for of, column in found if of == table)}:
                    kept = found.setdefault((table, name), set())
                    found[table, name] = kept | rows_of | written.get(name, set())
    return found


def unclaimed_changes(world, dice, sql):
    """The columns that have changed without a claim; None where Spark refuses the statement."""
    accesses = analyze_script(sql, CATALOG)
    assert all(access.analysis == "full" for access in accesses), sql
    claimed = claims(accesses)
    written = sorted({t.name.rpartition(".")[2] for access in accesses for t in access.objects_modified})
    try:
        before = world.answer(sql, written)
    except (PySparkException, Py4JJavaError):
        return None  # two rows of a source for one of a MERGE, say
    places = sorted(before)
    if not places:
        return None
    wrong = []
    everyone = frozenset().union(*(claimed[place] for place in places))
    for asked, claim in ((places, everyone), ([dice.choice(places)], None)):
        kept = claim if claim is not None else claimed[asked[0]]
        try:
            after = world.answer(sql, written, EVERYTHING - kept)
        except (PySparkException, Py4JJavaError):
            assert claim is None, sql  # a value that others claim may be one that no row may have
            continue
        wrong += [(place, sorted(kept)) for place in asked if before[place] != after.get(place, [])]
    return wrong


@pytest.fixture(scope="module")
def world(spark):
    """The world, gone afterwards."""
    made = World(spark)
    yield made
    made.session.sql("DROP SCHEMA rs CASCADE")


@pytest.mark.parametrize(
    ("first", "number"),
    [
        pytest.param(0, FEW, marks=pytest.mark.slow("each runs three times, over tables made anew")),
        pytest.param(1_000_000, SEARCH, marks=pytest.mark.long("150 statements and scripts: ten minutes")),
    ],
)
@pytest.mark.parametrize("write", [changing_statement, script])
def test_a_written_column_changes_with_nothing_that_it_does_not_claim(world, write, first, number):
    """What a target's column does not claim may hold any values."""
    found, ran = {}, 0
    for seed in range(first, first + number):
        sql, dice = write(seed), random.Random(seed)  # noqa: S311  no secret
        wrong = unclaimed_changes(world, dice, sql)
        ran += wrong is not None
        if wrong:
            found[seed] = (sql, wrong)
    assert found == {}
    assert ran >= number // 2
