"""The audit tables and their views in DuckDB."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from audit.core.clock import to_datetime
from audit.core.errors import QueryFailed, TableMissingError, TableUnreadable
from audit.policies.errors import GovernanceError
from audit.policies.model.events import GovernanceEvent
from audit.query.tables import opened
from audit.store.delta_files import UnsupportedStore
from audit.store.made_tables import _ADDED_COLUMNS, _UPGRADES
from audit.store.measured.names import OF_CATALOG, OF_GOVERNANCE
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from audit.store.views import OF_LINEAGE, OF_RECORDS

from .roots import add_catalog, add_governance, arrow_type, make_root, rows_of

NOON = datetime.fromisoformat("2026-11-20T12:00")
OBJECT = {
    "objectDomain": "Table", "objectId": 7, "objectName": "spark_catalog.s.t",
    "columns": [{"columnId": 1, "columnName": "a"}, {"columnId": 2, "columnName": "b"}],
}  # fmt: skip


def statement(number, at, user="ann"):
    """A row of query_history."""
    done = {"query_type": "SELECT", "execution_status": "SUCCESS"}
    return {"query_id": f"q{number}", "start_time": at, "user_name": user, **done}


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


def test_statements_has_all_of_query_history(root):
    """Each of its columns, in their order, but for `calls`; the day is where Spark makes it."""
    with opened(root) as tables:
        of_view, of_table = (
            tables.ask(f"SELECT * FROM account_usage.{name} WHERE false", {}).columns
            for name in ("statements", "query_history")
        )
    assert set(of_table) < set(of_view)
    assert of_view[:3] == ("query_id", "start_time", "query_date")
    elsewhere = {"calls", "query_date"}
    in_order = [name for name in of_table if name not in elsewhere]
    assert [name for name in of_view if name in of_table and name not in elsewhere] == in_order


def test_arrays_of_one_name(root):
    """`columns` stands in two columns of a table, with other fields in each."""
    modified = "SELECT explode(objects_modified) AS o FROM account_usage.access_history"
    for field in ("columnName", "directSources", "baseSources"):
        assert ask(root, f"SELECT o.columns.{field} FROM ({modified})") == []
    policies = "SELECT explode(policies_referenced) AS o FROM account_usage.access_history"
    for field in ("columnName", "policies"):
        assert ask(root, f"SELECT o.columns.{field} FROM ({policies})") == []
    accessed = "SELECT explode(direct_objects_accessed) AS o FROM account_usage.access_history"
    assert ask(root, f"SELECT o.columns.columnName FROM ({accessed})") == [(["a", "b"],)]


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


def test_what_waits_for_an_ingest(tmp_path):
    """It has its day, as rows of the table have; no more of their files are opened for it."""
    kind, since = {"query_type": "AUDIT_VERIFY"}, NOON - timedelta(hours=1)
    there = [{**statement(number, NOON - timedelta(days=number)), **kind} for number in range(3)]
    root = make_root(tmp_path, {"query_history": there})
    row = {"query_id": "waits", "start_time": f"{NOON.isoformat()}Z", **kind}
    text = f"SELECT event_id, query_date FROM account_usage.logging_history WHERE event_time >= '{since}'"
    with opened(root, waiting=[row]) as tables:
        assert tables.ask(text, {}).rows == [("q0", NOON.date()), ("waits", NOON.date())]
        ((_, plan),) = tables.connection.execute(
            f"EXPLAIN (ANALYZE, FORMAT json) {tables.translated(text)}"
        ).fetchall()
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
    """Empty tables have their columns, views over them no rows; governance has the roles of every root."""
    root = make_root(tmp_path, {})
    for view in (*OF_RECORDS, *OF_LINEAGE, *OF_GOVERNANCE):
        names = [row[3] for row in ask(root, f"SELECT * FROM account_usage.{view}")]
        assert names == (["ACCOUNTADMIN", "PUBLIC"] if view == "roles" else [])


@pytest.mark.parametrize("view", ["table_storage", "schemata", *OF_CATALOG])
def test_nothing_measured_yet(root, view):
    """Who asks for what is measured is told what measures it."""
    said = rf"account_usage\.{view} is not there yet.*attach a session to this root.*that measures it"
    for _ in range(2):
        with pytest.raises(QueryFailed, match=said):
            ask(root, f"SELECT * FROM account_usage.{view}")


@pytest.fixture
def plain_root(tmp_path):
    """Three days of ann's, where delta-rs can write more."""
    days = [statement(number, NOON - timedelta(days=number)) for number in range(3)]
    return make_root(tmp_path, {"query_history": days})


def test_what_was_measured_last(plain_root):
    """The catalog is as a session has found it, with the time."""
    relation = ("c.s.t", "s", "Table", 7, "c", "t", "MANAGED", "delta", "ann", None, *[None] * 4)
    at = to_datetime(1_000_000)
    add_catalog(plain_root, [("RELATION", relation, None, None, None, at)])
    found = ask(plain_root, "SELECT object_name, object_id, measured_at FROM account_usage.catalog_tables")
    assert found == [("c.s.t", 7, at.replace(tzinfo=None))]
    assert ask(plain_root, "SELECT * FROM account_usage.columns") == []


GRANTED = {"to": "USER", "grantee": "zoe"}


def test_governance_is_never_old(plain_root):
    """It is worked out from the events that are there; who has issued a statement is a user as well."""
    add_governance(plain_root, [GovernanceEvent(10, "CREATE_ROLE", "e", name="HR", user="ann")])
    assert ask(plain_root, "SELECT name FROM account_usage.roles WHERE owner = 'ann'") == [("HR",)]
    add_governance(
        plain_root, [GovernanceEvent(1_000_000, "GRANT_ROLE", "f", name="HR", details=GRANTED)], first=1
    )
    when = to_datetime(1_000_000).replace(tzinfo=None)
    assert ask(plain_root, "SELECT role, grantee_name, created_on FROM account_usage.grants_to_users") == [
        ("HR", "zoe", when)
    ]
    users = ask(
        plain_root, "SELECT name, created_on, last_statement_on FROM account_usage.users ORDER BY name"
    )
    assert users == [("ann", NOON - timedelta(days=2), NOON), ("zoe", when, None)]
    # The table below, as a query may name it: the whole struct.
    ((role,),) = ask(plain_root, "SELECT role FROM account_usage.object_governance WHERE role.name = 'HR'")
    assert (role["name"], role["owner"]) == ("HR", "ann")


def test_governance_of_an_older_version(plain_root):
    """A table without a column that has come since is read; what it lacks is NULL."""
    made = GovernanceEvent(10, "CREATE_ROLE", "e", name="HR", user="ann")
    add_governance(plain_root, [made], without=("role_name", "query_id"))
    assert ask(plain_root, "SELECT owner FROM account_usage.roles WHERE name = 'HR'") == [("ann",)]


def test_governance_of_a_newer_version(plain_root):
    """An event that this version does not know is refused: rows without it could be wrong."""
    add_governance(plain_root, [GovernanceEvent(10, "MELT", "e")])
    with pytest.raises(GovernanceError, match="MELT"):
        ask(plain_root, "SELECT * FROM account_usage.roles")
    assert ask(plain_root, "SELECT query_id FROM account_usage.query_history WHERE query_id = 'q0'") == [
        ("q0",)
    ]


def test_only_what_is_named_is_opened(plain_root):
    """A word that is also the name of a view, as `roles` and `users` are, opens nothing."""
    add_governance(plain_root, [GovernanceEvent(10, "MELT", "e")])
    found = ask(
        plain_root, "SELECT user_name AS users, 'tags' AS roles FROM account_usage.query_history LIMIT 1"
    )
    assert found == [("ann", "tags")]


def test_bad_input(root, tmp_path):
    """It says what is wrong, and where."""
    with pytest.raises(TableMissingError, match="no table access_history under"):
        ask(str(tmp_path / "nowhere"), "SELECT 1")
    for text, said in (
        ("SELECT nothing FROM account_usage.statements", "nothing"),
        ("SELECT * FROM account_usage.statement", "no table or view statement .*near it: statements"),
        ("SELECT strange(1)", "strange"),
    ):
        with pytest.raises(QueryFailed, match=said):
            ask(root, text)


@pytest.mark.parametrize(
    ("feature", "settings"),
    [("deletionVectors", {}), ("columnMapping", {"delta.columnMapping.mode": "name"})],
)
def test_a_table_that_its_files_do_not_tell(plain_root, feature, settings):
    """Rows may be deleted, or columns have other names, where no file says so: Spark has to read it."""
    log = Path(plain_root) / "query_history" / "_delta_log"
    (made,) = (line for line in (log / f"{0:020}.json").read_text().splitlines() if '{"metaData"' in line)
    changed = json.loads(made)
    changed["metaData"]["configuration"].update(settings)
    schema = json.loads(changed["metaData"]["schemaString"])
    for number, one in enumerate(schema["fields"]):
        named = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": one["name"]}
        one["metadata"] = named if settings else {}
    changed["metaData"]["schemaString"] = json.dumps(schema)
    features = [feature, "timestampNtz"]
    protocol = {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features,
    }  # fmt: skip
    lines = [json.dumps({"protocol": protocol}), json.dumps(changed)]
    (log / f"{1:020}.json").write_text("\n".join(lines))
    with pytest.raises(UnsupportedStore, match=f"query_history.* has {feature}"):
        ask(plain_root, "SELECT 1")
    with opened(plain_root, whole=False) as tables:
        said = rf"the table query_history under {plain_root} is read by Spark alone: .*{feature}"
        with pytest.raises(TableUnreadable, match=said):
            tables.ask("SELECT count(*) FROM account_usage.query_history", {})


def test_a_root_of_an_older_version(tmp_path):
    """It lacks columns, and fields of structs, until a session attaches: NULL stands there."""
    access = rows_of(ACCESS_HISTORY, [{"query_id": "q0", "query_start_time": NOON, "user_name": "ann"}])
    for older in _UPGRADES:
        name, kind = older.before.split(" ", 1)
        place = access.schema.get_field_index(name)
        access = access.set_column(place, name, pa.nulls(1, arrow_type(kind)))
    query = rows_of(QUERY_HISTORY, [statement(0, NOON)]).drop_columns(list(_ADDED_COLUMNS[QUERY_HISTORY]))
    root = make_root(tmp_path, {})
    for table, rows in ((ACCESS_HISTORY, access), (QUERY_HISTORY, query)):
        shutil.rmtree(tmp_path / table.name)
        write_deltalake(str(tmp_path / table.name), rows, partition_by=["query_date"])
    for name in (*OF_RECORDS, *OF_LINEAGE):
        ask(root, f"SELECT * FROM account_usage.{name}")
    assert ask(root, "SELECT query_id, calls, purpose FROM account_usage.statements") == [("q0", 1, None)]


def test_no_bar_on_standard_output():
    """DuckDB shows its own in a process without a file, as those that share the work of `audit verify`."""
    code = (
        "from audit.query.functions import connected\n"
        "with connected('s') as connection:\n"
        "    print(connection.execute(\"SELECT current_setting('enable_progress_bar')\").fetchall())"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert ran.stdout == "[(False,)]\n"
