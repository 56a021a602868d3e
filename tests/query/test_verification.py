"""Verification without Spark: the hash is that of `record_hash`, and each damage is found."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from datetime import date, datetime, timedelta, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from click.testing import CliRunner
from deltalake import DeltaTable, write_deltalake
from hypothesis import example, given, settings

from audit.cli import main
from audit.core.errors import TableAlteredError, TableMissingError, TableUnreadable
from audit.query.tables import opened
from audit.query.translation import to_duckdb
from audit.query.verification import verify
from audit.record.hash_sql import row_text, text_hash
from audit.record.record_hash import record_hash
from audit.store.tables import ACCESS_HISTORY, COLUMN_LINEAGE, QUERY_HISTORY, TABLE_LINEAGE

from .hashed_rows import HOSTILE, KINDS, ROWS
from .roots import append, arrow_type

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)


def hashes(kinds):
    """The query of the hashes of a table's rows."""
    return f"SELECT {text_hash('text')} FROM (SELECT {row_text(kinds)} AS text FROM account_usage.made)"


@pytest.fixture(scope="module")
def hashed():
    """The hashes that DuckDB gives rows: one connection and one translation serve all."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in KINDS.items()])
    translated = to_duckdb(hashes(KINDS), NOON, {})
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("CREATE SCHEMA account_usage")

        def found(rows):
            connection.register("given", pa.Table.from_pylist(rows, schema=schema))
            connection.execute("CREATE OR REPLACE TABLE account_usage.made AS SELECT * FROM given")
            return [one for (one,) in connection.execute(translated).fetchall()]

        yield found


@given(ROWS)
@example(HOSTILE)
@settings(deadline=None, max_examples=50)
def test_the_hash_is_that_of_python(hashed, rows):
    """For whatever a row can hold: controls, quotes, nulls at every depth, empty lists, early years."""
    assert hashed(rows) == [record_hash(row) for row in rows]


def test_a_value_that_no_record_holds_is_another_hash():
    """A column of another type, put there by hand: nothing changes while it is empty."""
    kinds = {"query_id": "string", "score": "double"}
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA account_usage")
        connection.execute("CREATE TABLE account_usage.made (query_id VARCHAR, score DOUBLE)")
        connection.execute("INSERT INTO account_usage.made VALUES ('q', 0.5), ('q', NULL)")
        found = connection.execute(to_duckdb(hashes(kinds), NOON, {})).fetchall()
    expected = record_hash({"query_id": "q"})
    assert [one == expected for (one,) in found] == [False, True]


OBJECTS = [
    {"objectDomain": "Table", "objectId": 7, "objectName": 'c.s."t"', "columns": [{"columnName": "a\n"}]},
]


def record(number, day=0, **more):
    """A statement's rows: of access_history, query_history and table_lineage."""
    start = NOON + timedelta(days=day)
    who = {"query_id": f"q{number}", "user_name": "ann"}
    access = {**who, "query_start_time": start, "base_objects_accessed": OBJECTS, "analysis": "full", **more}
    access["record_hash"] = record_hash(access)
    query = {**who, "start_time": start, "query_type": "INSERT", "execution_status": "SUCCESS"}
    return access, query, {**who, "query_start_time": start, "source_object_name": "c.s.t"}


def make(root, records):
    """The tables of statements, beside what has happened to the logging itself, a failure and a gap."""
    columns = list(zip(*records, strict=True)) or [(), (), ()]
    others = [
        {"query_id": "a", "start_time": NOON, "query_type": "AUDIT_ATTACH", "execution_status": "SUCCESS"},
        {"query_id": "f", "start_time": NOON, "query_type": "SELECT", "execution_status": "FAIL"},
        {"query_id": "g", "start_time": NOON, "query_type": "GAP", "execution_status": "INCOMPLETE"},
    ]
    append(root, ACCESS_HISTORY, list(columns[0]))
    append(root, QUERY_HISTORY, [*columns[1], *others])
    append(root, TABLE_LINEAGE, list(columns[2]))
    append(root, COLUMN_LINEAGE, [])
    return str(root)


@pytest.fixture
def root(tmp_path):
    """Four statements on two days."""
    return make(tmp_path, [record(number, number // 2) for number in range(4)])


def faults(root, *days):
    """What is found, as pairs."""
    with opened(root, whole=False) as tables:
        return [(one.query_id, one.fault) for one in verify(tables, *days).faults]


def test_nothing_is_wrong(root):
    """All rows are counted; those of the logging and failures need no record."""
    said = []
    with opened(root) as tables:
        found = verify(tables, progress=lambda done, _: said.append(done))
    assert (found.records, found.statements, found.faults, said) == (4, 6, (), [4])


NO_RECORD = "the statement succeeded and has no record in access_history"
NO_STATEMENT = "the record has no successful statement in query_history"
ALTERED = "the record was altered: its hash is another"
EDGES = "table_lineage has edges of the statement, which has no record in access_history"


@pytest.mark.parametrize(
    ("table", "change", "expected"),
    [
        ("access_history", {"updates": {"user_name": "'eve'"}, "predicate": "query_id = 'q1'"}, [ALTERED]),
        ("access_history", {"updates": {"analysis_reason": "''"}, "predicate": "query_id = 'q1'"}, [ALTERED]),
        ("access_history", {"updates": {"record_hash": "NULL"}, "predicate": "query_id = 'q1'"}, [ALTERED]),
        ("access_history", "query_id = 'q1'", [NO_RECORD, EDGES]),
        ("query_history", "query_id = 'q1'", [NO_STATEMENT]),
    ],
)
def test_a_change_by_hand(root, table, change, expected):
    """A changed cell, a lost hash, a deleted record, a deleted statement."""
    there = DeltaTable(f"{root}/{table}")
    if isinstance(change, str):
        there.delete(change)
    else:
        there.update(**change)
    assert faults(root) == [("q1", fault) for fault in expected]


@pytest.mark.parametrize(
    ("table", "place", "fault"),
    [
        (ACCESS_HISTORY, 0, "the record stands twice in access_history"),
        (QUERY_HISTORY, 1, "the statement stands twice in query_history"),
        (TABLE_LINEAGE, 2, "an edge of the statement stands twice in table_lineage"),
    ],
)
def test_a_doubled_row(root, table, place, fault):
    """In each table."""
    append(root, table, [record(1)[place]])
    assert faults(root) == [("q1", fault)]


def test_what_was_put_there(root):
    """A statement without a record, a record without a statement, a row without a time; a SWAP is none."""
    append(root, QUERY_HISTORY, [record(8)[1], record(10)[1]])
    append(root, ACCESS_HISTORY, [record(9)[0], record(10)[0], record(10, analysis_reason="other")[0]])
    append(root, ACCESS_HISTORY, [{"query_id": "q11"}])
    assert sorted(faults(root)) == [
        ("q11", NO_STATEMENT), ("q11", ALTERED), ("q8", NO_RECORD), ("q9", NO_STATEMENT),
    ]  # fmt: skip


def test_only_days_that_are_asked_for(root):
    """The first and the last day are looked at; pairs only where all tables keep the day."""
    first, last = NOON.date(), NOON.date() + timedelta(days=1)
    DeltaTable(f"{root}/access_history").update(updates={"user_name": "'eve'"}, predicate="query_id = 'q3'")
    DeltaTable(f"{root}/access_history").delete("query_id = 'q0'")
    both = [("q3", ALTERED), ("q0", NO_RECORD), ("q0", EDGES)]
    assert faults(root) == faults(root, first, last) == both
    assert faults(root, None, first) == both[1:]
    assert faults(root, last) == faults(root, first, last, last) == both[:1]


SIGNATURE = ", argumentSignature: STRING, dataType: STRING"


def test_files_of_an_older_version(tmp_path):
    """They lack fields inside of structs, all of them or some; the hashes are as they were."""
    root = make(tmp_path / "root", [])
    access, query, _ = record(1)
    append(root, QUERY_HISTORY, [query])
    fields = [(name, arrow_type(kind.replace(SIGNATURE, ""))) for name, kind, _ in ACCESS_HISTORY.columns]
    made = pa.Table.from_pylist([access], schema=pa.schema(fields))
    take_file(made.append_column("query_date", pa.array([NOON.date()], pa.date32())), tmp_path)
    assert faults(root) == []
    more, query, _ = record(2)
    append(root, ACCESS_HISTORY, [more])
    append(root, QUERY_HISTORY, [query])
    assert faults(root) == []
    DeltaTable(f"{root}/query_history").delete("query_id = 'q1'")
    assert faults(root) == [("q1", NO_STATEMENT)]


def take_file(rows, folder):
    """Bring rows into access_history as the file of a table that has had other columns."""
    write_deltalake(f"{folder}/old", rows, partition_by=["query_date"])
    (file,) = folder.glob("old/query_date=*/*.parquet")
    there = folder / "root" / "access_history"
    shutil.copytree(file.parent, there / file.parent.name)
    lines = (folder / "old" / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    version = len([*there.glob("_delta_log/*.json")])
    commit = there / "_delta_log" / f"{version:020}.json"
    commit.write_text("".join(f"{line}\n" for line in lines if line.startswith('{"add"')))


def test_a_root_older_than_lineage(root):
    """It lacks both tables of lineage, and nothing is wrong; one alone was deleted."""
    shutil.rmtree(f"{root}/column_lineage")
    with pytest.raises(TableMissingError, match=f"the audit table {root}/column_lineage is not there"):
        faults(root)
    shutil.rmtree(f"{root}/table_lineage")
    assert faults(root) == []


@pytest.mark.parametrize("name", ["access_history", "query_history"])
def test_a_table_that_is_gone(root, name):
    """It is named, with the way out."""
    shutil.rmtree(f"{root}/{name}")
    with pytest.raises(
        TableMissingError, match=f"the audit table {root}/{name} is not there; bring its folder"
    ):
        faults(root)


def test_a_table_of_other_columns(root):
    """It is told by column and type, before a hash is looked at."""
    shutil.rmtree(f"{root}/query_history")
    rows = pa.table({"query_id": ["q"], "start_time": [NOON], "query_date": [date(2026, 11, 20)]})
    write_deltalake(f"{root}/query_history", rows, partition_by=["query_date"])
    with pytest.raises(TableAlteredError, match=r"the column user_name of the audit table .* is missing"):
        faults(root)
    rows = rows.append_column("user_name", pa.array([1]))
    write_deltalake(f"{root}/query_history", rows, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(TableAlteredError, match=r"user_name .* is of type bigint, not string"):
        faults(root)


@pytest.mark.parametrize("damage", [b"PAR1 no more", None])
def test_a_damaged_file(root, damage):
    """It is named; so is one that is gone."""
    file, *_ = sorted(Path(root).glob("access_history/query_date=2026-11-20/*.parquet"))
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    with pytest.raises(TableUnreadable, match=file.name):
        faults(root)


def test_a_damaged_page(root):
    """DuckDB names no file of it, and it is no mistake of a query."""
    file, *_ = sorted(Path(root).glob("access_history/query_date=2026-11-20/*.parquet"))
    content = bytearray(file.read_bytes())
    content[4:60] = b"\xff" * 56
    file.write_bytes(content)
    with pytest.raises(TableUnreadable, match=f"under {root} cannot be read"):
        faults(root)


def test_the_command(root):
    """A clean root is exit code 0, a fault 1 with its query id; neither PySpark nor pandas is imported."""
    code = (
        "import sys; from audit.cli import main\n"
        f"main(['verify', '--root', {root!r}, '--json'], standalone_mode=False)\n"
        "print({'pyspark', 'pandas', 'py4j'} & sys.modules.keys(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = f"Reading the records under {root}\nset()\n"
    assert (done.returncode, done.stderr) == (0, said)
    (row,) = json.loads(done.stdout)
    assert (row["records"], row["statements"], row["faults"]) == (4, 6, 0)
    # It is of before the log of digests.
    assert (row["entries"], row["key"], row["unsigned"] > 10) == (0, "", True)
    DeltaTable(f"{root}/access_history").delete("query_id = 'q1'")
    answer = CliRunner().invoke(main, ["verify", "--root", root, "--json"], catch_exceptions=False)
    assert answer.exit_code == 1
    expected = [{"query_id": "q1", "fault": fault} for fault in (NO_RECORD, EDGES)]
    assert json.loads(answer.stdout) == expected
    # Both are on record: the next ingest takes them in.
    spooled = b"".join(file.read_bytes() for file in Path(root).glob("spool/*/sealed/*"))
    assert spooled.count(b'"query_type":"AUDIT_VERIFY"') == 2
    assert b'\\"faults\\":2' in spooled
