"""The audit tables and their views in DuckDB."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from deltalake import write_deltalake

from audit.core.errors import QueryFailed, TableMissingError
from audit.query.tables import opened
from audit.store.tables import QUERY_HISTORY
from audit.store.views import VIEWS

from .roots import make_root, rows_of

NOON = datetime.fromisoformat("2026-11-20T12:00")
OBJECT = {
    "objectDomain": "Table", "objectId": 7, "objectName": "spark_catalog.s.t",
    "columns": [{"columnId": 1, "columnName": "a"}, {"columnId": 2, "columnName": "b"}],
}  # fmt: skip


def statement(number, at, user="ann"):
    """A row of query_history."""
    return {"query_id": f"q{number}", "start_time": at, "user_name": user, "execution_status": "SUCCESS"}


@pytest.fixture
def root(tmp_path):
    """Three days, a statement each; the first has read a table with columns, the second one without."""
    days = [NOON - timedelta(days=number) for number in range(3)]
    bare = {**OBJECT, "objectName": "spark_catalog.s.u", "columns": []}
    reads = [
        {
            "query_id": "q0",
            "query_start_time": days[0],
            "user_name": "ann",
            "direct_objects_accessed": [OBJECT],
        },
        {"query_id": "q1", "query_start_time": days[1], "user_name": "ann", "base_objects_accessed": [bare]},
    ]
    rows = {"query_history": [statement(*one) for one in enumerate(days)], "access_history": reads}
    # delta-rs (1.6) writes under no such name; it reads there.
    return str(Path(make_root(tmp_path / "made", rows)).rename(tmp_path / "it's 100% [a] root"))


def ask(root, text, limit=0, **values):
    """The rows."""
    with opened(root) as tables:
        return tables.ask(text, values, limit).rows


def test_views(root):
    """They are those of Spark; an object without columns keeps its row; of a failure nobody knows."""
    found = ask(
        root,
        "SELECT query_id, object_name, column_name, is_direct FROM account_usage.columns_read ORDER BY ALL",
    )
    assert found == [
        ("q0", "spark_catalog.s.t", "a", True), ("q0", "spark_catalog.s.t", "b", True),
        ("q1", "spark_catalog.s.u", None, False),
    ]  # fmt: skip
    assert ask(root, "SELECT query_id, reads_data, is_ddl FROM account_usage.statements ORDER BY 1") == [
        ("q0", False, False), ("q1", True, False), ("q2", None, None),
    ]  # fmt: skip


def test_a_parameter_and_a_time(root):
    """Values are bound, never read as SQL; a time is UTC and has no zone."""
    text = "SELECT start_time FROM account_usage.query_history WHERE query_id = :id"
    assert ask(root, text, id="q0", other="unused") == [(NOON,)]
    assert ask(root, text, id="' OR 1 = 1 --") == []
    assert ask(root, "SELECT query_id FROM account_usage.query_history ORDER BY 1", limit=2) == [
        ("q0",),
        ("q1",),
    ]


def test_only_the_days_asked_for_are_opened(root):
    """By the folder of the day, before a file is looked into; a view is no obstacle."""
    bound = NOON - timedelta(hours=1)
    for table, time in (("query_history", "start_time"), ("columns_read", "query_start_time")):
        with opened(root) as tables:
            sql = tables.translated(
                f"SELECT * FROM account_usage.{table} WHERE {time} >= TIMESTAMP '{bound}'"
            )
            ((_, plan),) = tables.connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {sql}").fetchall()
        assert set(re.findall(r"query_date=[0-9-]+", plan)) == {"query_date=2026-11-20"}


def test_files_of_an_older_version(tmp_path):
    """What they lack is NULL."""
    root = make_root(tmp_path, {"query_history": [statement(1, NOON)]})
    old = rows_of(QUERY_HISTORY, [statement(0, NOON - timedelta(days=1))])
    there = old.select(["query_id", "start_time", "user_name", "query_date"])
    write_deltalake(f"{root}/query_history", there, mode="append", schema_mode="merge")
    found = ask(root, "SELECT query_id, execution_status FROM account_usage.query_history ORDER BY 1")
    assert found == [("q0", None), ("q1", "SUCCESS")]


def test_nothing_on_record_yet(tmp_path):
    """Empty tables have their columns, and views over them no rows; those of storage are not measured yet."""
    root = make_root(tmp_path, {})
    for view in VIEWS[:6]:
        assert ask(root, f"SELECT * FROM account_usage.{view}") == []
    with pytest.raises(QueryFailed, match="table_storage does not exist"):
        ask(root, "SELECT * FROM account_usage.table_storage")


def test_bad_input(root, tmp_path):
    """It says what is wrong, and where."""
    with pytest.raises(TableMissingError, match="no table access_history under"):
        ask(str(tmp_path / "nowhere"), "SELECT 1")
    for text, said in (
        ("SELECT nothing FROM account_usage.statements", "nothing"),
        ("SELECT * FROM account_usage.statement", "statement does not exist"),
        ("SELECT strange(1)", "strange"),
    ):
        with pytest.raises(QueryFailed, match=said):
            ask(root, text)
