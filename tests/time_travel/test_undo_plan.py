"""A plan to undo: what a bad statement touched, what was made of it, what else goes, in order."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from audit import time_travel
from audit.testing import records
from audit.time_travel import errors

pytestmark = pytest.mark.spark


def rows(session, table):
    """The first column, in order."""
    return sorted(row[0] for row in session.sql(f"SELECT * FROM {table}").collect())


def last(session, table):
    """The id of the statement that wrote the newest version."""
    return session.sql(f"DESCRIBE HISTORY {table} LIMIT 1").collect()[0].userMetadata


def said(plan):
    """Table and versions of each step, without the schema."""
    return [(step.table.rpartition(".")[2], step.from_version, step.to_version) for step in plan.steps]


@pytest.fixture
def story(session, schema):
    """A bad DELETE, two tables derived from what it left, one that was read before, a good change since."""
    session.sql("CREATE TABLE sales AS SELECT id AS a FROM range(4)")
    session.sql("CREATE TABLE early AS SELECT a FROM sales")
    session.sql("CREATE TABLE daily (a BIGINT)")
    session.sql("CREATE VIEW seen AS SELECT a FROM sales")
    session.sql("DELETE FROM sales WHERE a > 0")
    bad = last(session, "sales")
    session.sql("INSERT INTO daily SELECT a FROM seen")
    session.sql("CREATE TABLE report AS SELECT max(a) AS top FROM daily")
    session.sql("INSERT INTO sales VALUES (10)")
    return bad


def test_what_was_touched_and_derived(session, schema, story):
    """Upstream first, through a view; what was only read before is left alone; the good change is named."""
    good = last(session, "sales")
    plan = time_travel.plan_undo(session, story)
    assert said(plan) == [("sales", 2, 0), ("daily", 1, 0), ("report", 0, None)]
    assert [step.sql.split()[0] for step in plan.steps] == ["RESTORE", "RESTORE", "DROP"]
    assert plan.steps[1].because.endswith(f"wrote it from spark_catalog.{schema}.sales")
    (warning,) = plan.warnings
    assert "sales: version 2 is lost, too: INSERT" in warning
    assert good in warning
    assert story in str(plan)
    assert rows(session, "sales") == [0, 10]  # nothing has run


@pytest.mark.slow("three plans over the audit tables")
def test_run(session, schema, story):
    """Each step is a statement on record; what is left to undo afterwards is nothing."""
    time_travel.plan_undo(session, story).run(session)
    assert (rows(session, "sales"), rows(session, "daily")) == ([0, 1, 2, 3], [])
    assert not session.catalog.tableExists("report")
    assert session.sql("DESCRIBE HISTORY sales LIMIT 1").collect()[0].operation == "RESTORE"
    again = time_travel.plan_undo(session, story)
    assert again.steps == ()
    assert "nothing of that is in it since version 3" in again.warnings[0]
    session.sql("UNDROP TABLE report")
    assert said(time_travel.plan_undo(session, last(session, "sales"))) == [("sales", 3, 2)]


@pytest.mark.long("one more refusal of a plan")
def test_a_plan_grows_old(session, schema, story):
    """What came after the plan would be lost without a word: nothing runs."""
    plan = time_travel.plan_undo(session, story)
    session.sql("INSERT INTO sales VALUES (11)")
    with pytest.raises(errors.StalePlanError, match=r"sales is no longer at version 2"):
        plan.run(session)
    assert rows(session, "daily") == [0]


@pytest.mark.long("test_run has the usual story")
def test_overwritten_since(session, schema):
    """A table that was loaded anew holds nothing of the change, nor does what was made of it then."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE TABLE source AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (666)")
    bad = last(session, "t")
    session.sql("INSERT OVERWRITE t SELECT a FROM source")
    session.sql("CREATE TABLE u AS SELECT a FROM t")
    session.sql("CREATE TABLE w AS SELECT a FROM t VERSION AS OF 1")
    plan = time_travel.plan_undo(session, bad)
    assert said(plan) == [("w", 0, None)]
    assert len(plan.warnings) == 1
    assert "t: INSERT" in plan.warnings[0]
    assert "in it since version 2: it stays as it is" in plan.warnings[0]


DDL = {
    "DROP TABLE t": "UNDROP TABLE {schema}.`t`",
    "CREATE TABLE n (a INT)": "DROP TABLE {schema}.`n`",
    "CREATE OR REPLACE TABLE t USING delta AS SELECT 'x' AS b": "RESTORE",
}
MORE_DDL = {
    "ALTER TABLE t ADD COLUMN more INT": "RESTORE",
    "DROP VIEW v": "UNDROP VIEW {schema}.`v`",
    "CREATE TABLE c CLONE t": "DROP TABLE {schema}.`c`",
    "CREATE VIEW x AS SELECT 1 AS a": "DROP VIEW {schema}.`x`",
    "TRUNCATE TABLE t": "RESTORE",
}


@pytest.mark.parametrize(
    "undone",
    [DDL, pytest.param(MORE_DDL, marks=pytest.mark.long("the same for other kinds"))],
    ids=["tables", "more"],
)
@pytest.mark.slow("four statements, each planned and undone")
def test_ddl(session, schema, undone):
    """What was dropped comes back, what was made is dropped, what was replaced is restored."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT 1 AS a")
    for bad, sql in undone.items():
        before = session.sql("SHOW TABLES").count(), session.table("t").collect()
        session.sql(bad)
        plan = time_travel.plan_undo(session, newest(session, bad))
        (step,) = plan.steps
        assert step.sql.startswith(sql.format(schema=f"`spark_catalog`.`{schema}`"))
        session.sql("USE default")
        plan.run(session)
        assert session.sql("SELECT current_schema()").collect()[0][0] == "default"
        session.sql(f"USE {schema}")
        assert (session.sql("SHOW TABLES").count(), session.table("t").collect()) == before


def newest(session, text):
    """The id of the last statement of a text."""
    return [one.query.query_id for one in records(session) if one.query.query_text == text][-1]


@pytest.mark.long("four plans; test_run has what can be")
def test_what_cannot_be_taken_back(session, spark, schema, tmp_path):
    """Tables without versions, a version whose files are gone, a name that is taken: said, not tried."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (666)")
    bad = last(session, "t")
    session.sql("CREATE TABLE p (a INT) USING parquet")
    session.sql("INSERT INTO p SELECT a FROM t")
    plan = time_travel.plan_undo(session, bad)
    assert said(plan) == [("t", 1, 0)]
    assert "p: INSERT" in plan.warnings[0]
    assert "no version of a Delta table tells of that" in plan.warnings[0]

    spark.sql(f"CREATE TABLE {schema}.outside USING delta LOCATION '{tmp_path}/o' AS SELECT 1 AS a")
    session.sql("INSERT OVERWRITE outside VALUES (666)")
    files = {Path(name.removeprefix("file:")) for name in session.table("outside").inputFiles()}
    for file in set((tmp_path / "o").glob("*.parquet")) - files:
        file.unlink()
    plan = time_travel.plan_undo(session, last(session, "outside"))
    assert plan.steps == ()
    assert "version 0 is gone: its file" in plan.warnings[0]

    session.sql("DROP TABLE t")
    dropped = newest(session, "DROP TABLE t")
    session.sql("CREATE TABLE t (b INT)")
    plan = time_travel.plan_undo(session, dropped)
    assert plan.steps == ()
    assert "the name is taken" in plan.warnings[0]
    with pytest.raises(errors.UnknownStatementError, match="8e5d"):
        time_travel.plan_undo(session, "8e5d")


@pytest.mark.long("test_run has the usual story")
def test_renamed_and_dropped_since(session, schema):
    """A table is found under its new name, and one that was dropped is told of."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("INSERT INTO t VALUES (666)")
    bad = last(session, "t")
    session.sql("CREATE TABLE gone AS SELECT a FROM t")
    session.sql("ALTER TABLE t RENAME TO u")
    session.sql("INSERT INTO u SELECT 2")
    session.sql("CREATE TABLE t AS SELECT a FROM gone")
    session.sql("DROP TABLE gone")
    plan = time_travel.plan_undo(session, bad)
    assert said(plan) == [("u", 2, 0), ("t", 0, None)]
    assert any(
        "gone: CREATE_TABLE_AS_SELECT" in each and "it was dropped at" in each for each in plan.warnings
    )


@pytest.mark.long("a rare state; test_what_cannot_be_taken_back has the usual reasons")
def test_restore_of_a_state_of_long_ago(session, spark, schema, tmp_path):
    """A version that was committed long ago and was the state until now is within retention."""
    spark.sql(f"CREATE TABLE {schema}.o USING delta LOCATION '{tmp_path}/o' AS SELECT 1 AS a")
    month_ago = time.time() - 30 * 86_400
    os.utime(tmp_path / "o/_delta_log/00000000000000000000.json", (month_ago, month_ago))
    session.sql("DELETE FROM o")
    bad = last(session, "o")
    time_travel.plan_undo(session, bad).run(session)
    assert rows(session, "o") == [1]
