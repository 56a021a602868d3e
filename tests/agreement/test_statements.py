"""Random statements, asked of both engines, column by column.

The short form asks the same ones in each run. The long one asks 5,000 others, or the number in
RANDOM_STATEMENTS; a seed says each of them: `random_statements.statement(seed)`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from lineage import MemoryCatalog, analyze
from lineage.engine_diff import differences

from .planner import Planner
from .random_statements import FUNCTIONS, TABLES, VIEWS, statement

pytestmark = pytest.mark.spark

GRAMMAR = Path(__file__).parents[1] / "lineage" / "sql" / "grammar.txt"

FIXED, PIECES = 300, 3  # in pieces: a test has 15 seconds
SEARCH = int(os.environ.get("RANDOM_STATEMENTS") or 5_000)
CATALOG = MemoryCatalog(
    {f"rs.{name}": columns for name, columns in TABLES.items()},
    {f"rs.{name}": query for name, query in VIEWS.items()},
    functions={f"rs.{name}": text for name, text in FUNCTIONS.items()},
    current_schema="rs",
)


@pytest.fixture(scope="module")
def planner(spark):
    """The plan engine over the world of the statements."""
    session = spark.newSession()
    session.sql("DROP SCHEMA IF EXISTS rs CASCADE")
    session.sql("CREATE SCHEMA rs")
    session.sql("USE rs")
    for name, columns in TABLES.items():
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        session.sql(f"CREATE TABLE {name} ({listed}) USING delta")
    for name, query in VIEWS.items():
        session.sql(f"CREATE VIEW {name} AS {query}")
    for text in FUNCTIONS.values():
        session.sql(text)
    yield Planner(session)
    session.sql("DROP SCHEMA rs CASCADE")


@pytest.mark.parametrize(
    ("first", "number"),
    [
        *((first, FIXED // PIECES) for first in range(0, FIXED, FIXED // PIECES)),
        pytest.param(1_000_000, SEARCH, marks=pytest.mark.long("5000 new statements: about ten minutes")),
    ],
)
def test_engines_agree_on_any_statement(planner, first, number):
    """Objects, columns, and the sources of each output and each column written: both say the same."""
    found, accepted = {}, 0
    for seed in range(first, first + number):
        sql = statement(seed)
        try:
            plan = planner.access(sql)
        except (PySparkException, Py4JJavaError):
            continue  # the grammar does not know all of Spark's rules: an ambiguous name, say
        accepted += 1
        wrong = disagreements(analyze(sql, CATALOG), plan)
        if wrong:
            found[seed] = (sql, wrong)
    assert found == {}
    # Of ten statements Spark takes at least eight: else the grammar has gone wrong.
    assert accepted > 0.8 * number


def test_spark_parses_each_text_of_the_grammar(spark):
    """The texts that the text engine must understand are Spark's own SQL."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    lines = GRAMMAR.read_text(encoding="utf-8").splitlines()
    for sql in lines:
        if sql and not sql.startswith("#"):
            parser.parsePlan(sql)


def disagreements(text, plan):
    """What the engines say otherwise."""
    if (text.analysis, plan.analysis) != ("full", "full"):
        return [text.reason, plan.reason]
    return [str(one) for one in differences(text, plan, names=False)]
