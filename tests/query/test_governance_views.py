"""The views for governance, without Spark: what they hold, and which days they open."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import pytest

from audit.policies.model.events import GovernanceEvent
from audit.query.tables import TIMES, opened
from audit.store.views import VIEWS
from lineage.catalog.object_ids import object_id

from .days_opened import days_opened
from .roots import add_catalog, add_governance, make_root

NOON = datetime.fromisoformat("2026-11-20T12:00")
KINDS = ("direct", "base")
TABLE_ID = object_id("Table", "x")
DAYS = [NOON - timedelta(days=number) for number in (10, 1, 0)]
TABLE = {
    "objectDomain": "Table", "objectId": TABLE_ID, "objectName": "c.s.t",
    "columns": [{"columnId": 1, "columnName": "a"}],
}  # fmt: skip
FILE = {
    "objectDomain": "STAGE", "objectId": 8, "objectName": "file:/x", "location": "file:/x",
    "stageKind": "External Named", "columns": [{"columnId": 2, "columnName": "b"}],
}  # fmt: skip
POLICY = {"policyName": "c.s.m", "policyId": 9, "policyKind": "MASKING_POLICY", "changedResult": True}
TAG = {"object_domain": "Table", "object_id": TABLE_ID, "columns": [["a", "a", 1, "INT"]], "value": "high"}


def unload(number, at):
    """A statement that reads a table and writes a file, in all tables."""
    done = {
        "query_type": "UNLOAD", "execution_status": "SUCCESS", "rows_produced": 5, "bytes_scanned": 9,
        "role_name": "ACCOUNTADMIN", "session_id": "s", "query_parameterized_hash": "h", "query_text": "u",
    }  # fmt: skip
    who = {"query_id": f"q{number}", "user_name": "ann"}
    lineage = {
        "query_type": "UNLOAD", "source_object_id": TABLE_ID, "source_object_name": "c.s.t",
        "source_object_domain": "Table", "target_object_id": 8,
        "target_object_name": "file:/x", "target_object_domain": "STAGE", "is_indirect": False,
    }  # fmt: skip
    columns = {"source_column_id": 1, "source_column_name": "a", "target_column_name": "b"}
    accessed = {
        "direct_objects_accessed": [TABLE], "base_objects_accessed": [TABLE], "objects_modified": [FILE],
        "policies_referenced": [{**TABLE, "columns": [{**TABLE["columns"][0], "policies": [POLICY]}]}],
    }  # fmt: skip
    return {
        "query_history": [{**who, "start_time": at, **done}],
        "access_history": [{**who, "query_start_time": at, **accessed}],
        "column_lineage": [
            {**who, "query_start_time": at, **lineage, **columns, "source_kind": kind} for kind in KINDS
        ],
        "table_lineage": [{**who, "query_start_time": at, **lineage, "source_kind": kind} for kind in KINDS],
    }


def failed(number, at):
    """A statement that was denied."""
    done = {
        "query_type": "SELECT",
        "execution_status": "DENIED",
        "error_code": "E",
        "objects_tried": ["c.s.t"],
    }
    return {"query_id": f"f{number}", "start_time": at, "user_name": "bob", **done}


def ddl(number, at, query_type, operation, name, properties, domain="MASKING POLICY"):
    """A statement that changes the definition of something."""
    changed = {"objectDomain": domain, "objectId": 9, "objectName": name, "operationType": operation}
    who = {"query_id": f"d{number}", "user_name": "ann"}
    done = {"query_type": query_type, "execution_status": "SUCCESS", "query_text": f"{operation} {number}"}
    return (
        {**who, "start_time": at, **done},
        {**who, "query_start_time": at, "object_modified_by_ddl": {**changed, "properties": properties}},
    )


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Three days, on each an unload, a denial and, on two, a change of a policy."""
    rows = {name: [] for name in ("query_history", "access_history", "column_lineage", "table_lineage")}
    for number, at in enumerate(DAYS):
        for name, row in unload(number, at).items():
            rows[name] += row
        rows["query_history"].append(failed(number, at))
        event = {"query_id": f"e{number}", "start_time": at, "user_name": "ann", "query_type": "AUDIT_INGEST"}
        rows["query_history"].append(event)
    changes = [
        ddl(0, DAYS[0], "CREATE_MASKING_POLICY", "CREATE", "c.s.m", '{"body":{"value":"1"}}'),
        ddl(1, DAYS[2], "ALTER_MASKING_POLICY", "ALTER", "c.s.m", '{"body":{"value":"2"}}'),
        ddl(2, DAYS[2], "ALTER_TABLE", "ALTER", "c.s.t", '{"columns":{}}', domain="Table"),
        ddl(3, DAYS[1], "ALTER_TABLE", "ALTER", "c.s.t", set_tag("low", "ADD"), domain="Table"),
        ddl(4, DAYS[2], "ALTER_TABLE", "ALTER", "c.s.t", set_tag("high", "ALTER"), domain="Table"),
        ddl(5, DAYS[2], "GRANT", "ALTER", "c.s.t", granted("SELECT"), domain="Table"),
        ddl(6, NOON + timedelta(1), "REVOKE", "ALTER", "c.s.t", granted("SELECT"), domain="Table"),
        ddl(7, NOON + timedelta(1), "GRANT", "ALTER", "c.s.t", granted("INSERT"), domain="Table"),
    ]
    for statement, change in changes:
        rows["query_history"].append(statement)
        rows["access_history"].append(change)
    made = make_root(tmp_path_factory.mktemp("root"), rows)
    add_governance(made, [
        GovernanceEvent(10, "CREATE_TAG", "e", name="c.s.pii", details={"allowed": None, "comment": None}),
        GovernanceEvent(20, "SET_TAG", "f", "e", "delta:x", "c.s.t", details={**TAG, "column": "a"}),
    ])  # fmt: skip
    return made


def set_tag(value, operation):
    """The properties of SET TAG on a column."""
    said = f'{{"objectId":{{"value":5}},"subOperationType":"{operation}","tagValue":{{"value":"{value}"}}}}'
    return f'{{"columns":{{"a":{{"objectId":{{"value":1}},"tags":{{"c.s.pii":{said}}}}}}}}}'


def granted(privilege):
    """The properties of GRANT and REVOKE."""
    return f'{{"grantee":{{"value":"bob"}},"privileges":{{"value":"{privilege}"}},"to":{{"value":"USER"}}}}'


def ask(root, text):
    """The rows."""
    with opened(root) as tables:
        return tables.ask(text.replace(" usage.", " account_usage."), {}).rows


BOUNDED = (
    ("exports", "query_start_time"), ("failed_and_denied_attempts", "last_attempt"),
    ("failed_and_denied_attempts", "query_date"), ("top_readers", "last_read"), ("top_readers", "query_date"),
    ("top_writers", "last_write"), ("top_writers", "query_date"),
    ("administrator_access", "query_start_time"), ("tagged_data_spread", "query_start_time"),
    ("aggregate_query_history", "interval_start_time"), ("aggregate_access_history", "interval_start_time"),
    ("system_access_audit", "event_time"), ("system_access_audit", "event_date"),
    ("system_access_table_lineage", "event_time"), ("system_access_column_lineage", "event_time"),
    ("system_query_history", "start_time"), ("information_schema_jobs", "creation_time"),
    ("users_by_day", "first_statement_on"), ("users_by_day", "query_date"),
    ("sessions_by_day", "first_record_on"), ("sessions_by_day", "query_date"),
    ("snowflake_query_history", "start_time"), ("logging_history", "event_time"),
    ("ddl_history", "query_start_time"), ("policy_statements", "query_start_time"),
    ("policy_statements_of_all_days", "query_start_time"),
    ("policies_in_force", "query_start_time"), ("statements", "start_time"),
    ("objects_read", "query_start_time"), ("columns_read", "query_start_time"),
    ("columns_written", "query_start_time"),
)  # fmt: skip


UNBOUNDED = {"first_time_access", "policy_changes", "data_quality"}
"""The first two look for what was before; `audit.expect` makes the table of the last."""


def test_each_view_of_days_is_bounded():
    """A new view is looked at, too."""
    assert {view for view in TIMES if view in VIEWS} - {view for view, _ in BOUNDED} == UNBOUNDED


@pytest.mark.parametrize(("view", "time"), BOUNDED)
def test_only_the_days_asked_for_are_opened(root, view, time):
    """By the folder of the day, before a file is looked into; a join and a sum are no obstacle."""
    bound = "DATE '2026-11-20'" if time.endswith("_date") else f"TIMESTAMP '{NOON - timedelta(hours=1)}'"
    query = f"SELECT * FROM account_usage.{view} WHERE {time} >= {bound}"
    with opened(root) as tables:
        assert tables.ask(query, {}).rows
        assert days_opened(tables, query) <= {date(2026, 11, 20), date(2026, 11, 21)}


def test_first_time_access(root):
    """One row for each user and object; the reads of the next days are none."""
    assert ask(
        root, "SELECT query_id, object_name, days_since_previous_read FROM usage.first_time_access"
    ) == [("q0", "c.s.t", None)]


def test_access_after_a_pause(tmp_path):
    """After 30 days without a read it is as a first one; of one day's reads the first counts."""
    moments = [NOON, NOON + timedelta(days=29), NOON + timedelta(days=59), NOON + timedelta(days=59, hours=1)]
    rows = [unload(number, at) for number, at in enumerate(moments)]
    made = make_root(tmp_path, {name: [row for one in rows for row in one[name]] for name in rows[0]})
    found = ask(
        made, "SELECT query_id, previous_read_time, days_since_previous_read FROM usage.first_time_access"
        " ORDER BY query_start_time",
    )  # fmt: skip
    assert found == [("q0", None, None), ("q2", moments[1], 30)]


def test_top_readers_of_one_name(tmp_path):
    """A function and a table below a view may have one name: the reads of both are there."""
    made = unload(0, NOON)
    (record,) = made["access_history"]
    table = record["base_objects_accessed"][0]
    record["direct_objects_accessed"] = [{**table, "objectDomain": "FUNCTION", "objectId": 99, "columns": []}]
    record["base_objects_accessed"] = [table]
    root = make_root(tmp_path, made)
    found = ask(
        root, "SELECT object_domain, object_id, first_is_direct, columns FROM usage.top_readers ORDER BY 1"
    )
    assert found == [("FUNCTION", 99, True, []), ("Table", TABLE_ID, False, ["a"])]


def test_exports(root):
    """Where it went, what it held, of which tables."""
    found = ask(root, "SELECT location, sources, columns, rows_produced FROM usage.exports LIMIT 1")
    assert found == [("file:/x", ["c.s.t"], ["b"], 5)]


def test_failed_and_denied_attempts(root):
    """By day, user, object and error."""
    found = ask(
        root, "SELECT query_date, object_name, error_code, attempts FROM usage.failed_and_denied_attempts"
        " ORDER BY 1",
    )  # fmt: skip
    assert found == [(at.date(), "c.s.t", "E", 1) for at in DAYS]


def test_top_readers(root):
    """Days can be summed."""
    found = ask(
        root, "SELECT user_name, object_name, sum(statements), sum(rows_produced), count(query_date)"
        " FROM usage.top_readers GROUP BY ALL",
    )  # fmt: skip
    assert found == [("ann", "c.s.t", 3, 15, 3)]


def test_top_writers(root):
    """Writes and changes of definitions by user and object, with the rows of the writes."""
    found = ask(
        root, "SELECT object_name, sum(writes), sum(definition_changes), sum(rows_written), min(first_write),"
        " max(last_write), count(query_date) FROM usage.top_writers WHERE object_domain <> 'MASKING POLICY'"
        " GROUP BY ALL ORDER BY 1",
    )  # fmt: skip
    day_after = NOON + timedelta(1)
    assert found == [
        ("c.s.t", 0, 6, 0, DAYS[1], day_after, 3),
        ("file:/x", 3, 0, 15, DAYS[0], NOON, 3),
    ]


def test_a_table_that_is_made_and_filled(tmp_path):
    """One statement, a write and a change; an object that it lists twice is written once."""
    made = unload(0, NOON)
    (record,), (statement,) = made["access_history"], made["query_history"]
    statement["calls"] = 4
    record["objects_modified"] = [TABLE, TABLE]
    record["object_modified_by_ddl"] = {**TABLE, "columns": None, "operationType": "CREATE"}
    found = ask(
        make_root(tmp_path, made),
        "SELECT object_id, writes, definition_changes, rows_written, first_query_id FROM usage.top_writers",
    )
    assert found == [(TABLE_ID, 4, 4, 5, "q0")]


def test_what_was_read_last(tmp_path):
    """By user and object, by column; the newest name counts, and where there is no id each name does."""
    rows = {name: [] for name in ("query_history", "access_history", "column_lineage", "table_lineage")}
    read = [
        {**TABLE, "objectName": "c.s.before"},
        {**TABLE, "columns": []},
        {**TABLE, "objectId": None, "objectName": "f"},
        {**TABLE, "objectId": None, "objectName": "g"},
    ]
    for number, one in enumerate(read):
        for name, made in unload(number, NOON + timedelta(days=number)).items():
            rows[name] += made
        rows["access_history"][-1].update(direct_objects_accessed=[one], base_objects_accessed=[one])
    root = make_root(tmp_path, rows)
    query = "SELECT object_name, object_id, last_read FROM usage.objects_last_read ORDER BY last_read"
    assert ask(root, query) == [
        ("c.s.t", TABLE_ID, NOON + timedelta(1)),
        ("f", None, NOON + timedelta(2)),
        ("g", None, NOON + timedelta(3)),
    ]
    query = "SELECT object_name, column_name, last_read FROM usage.columns_last_read ORDER BY last_read"
    assert ask(root, query) == [
        ("c.s.before", "a", NOON),
        ("c.s.t", None, NOON + timedelta(1)),
        ("f", "a", NOON + timedelta(2)),
        ("g", "a", NOON + timedelta(3)),
    ]


def test_last_written(tmp_path):
    """One row for a user and an object, whatever its name was; a change of its definition counts."""
    rows = {name: [] for name in ("query_history", "access_history", "column_lineage", "table_lineage")}
    _, change = ddl(0, NOON, "ALTER_TABLE", "ALTER", "c.s.t", "{}", domain="Table")
    changed = {**change["object_modified_by_ddl"], "objectId": TABLE_ID}
    written = [
        ([{**TABLE, "objectName": "c.s.before"}], None),
        ([], changed),
        ([{**FILE, "objectId": None}], None),
    ]
    for number, (objects, definition) in enumerate(written):
        for name, made in unload(number, NOON + timedelta(days=number)).items():
            rows[name] += made
        rows["access_history"][-1].update(objects_modified=objects, object_modified_by_ddl=definition)
    root = make_root(tmp_path, rows)
    query = "SELECT object_name, object_id, last_write FROM usage.objects_last_written ORDER BY last_write"
    assert ask(root, query) == [
        ("c.s.t", TABLE_ID, NOON + timedelta(1)),
        ("file:/x", None, NOON + timedelta(2)),
    ]


def test_administrator_access(root):
    """Statements in the role, nothing of other users."""
    assert ask(root, "SELECT count(*), max(user_name) FROM usage.administrator_access") == [(3, "ann")]


def test_policy_changes(root):
    """What was said before is that of the same policy, tag or grant; a change of columns alone is none."""
    found = ask(root, "SELECT query_id, query_text_before FROM usage.policy_changes ORDER BY 1")
    assert found == [
        ("d0", None), ("d1", "CREATE 0"), ("d3", None), ("d4", "ALTER 3"), ("d5", None), ("d6", "ALTER 5"),
        ("d7", None),
    ]  # fmt: skip
    ((before, after),) = ask(
        root, "SELECT properties_before, properties FROM usage.policy_changes WHERE query_id = 'd1'"
    )
    assert (before, after) == ('{"body":{"value":"1"}}', '{"body":{"value":"2"}}')


def test_tagged_data_spread(root):
    """Each statement that took the tagged column somewhere; the file has no tag."""
    found = ask(
        root, "SELECT tag_name, tag_value, source_column_name, target_object_name, target_is_tagged, count(*)"
        " FROM usage.tagged_data_spread GROUP BY ALL",
    )  # fmt: skip
    assert found == [("c.s.pii", "high", "a", "file:/x", False, 3)]


def test_unused_columns(tmp_path):
    """Those that no statement of the last 30 days has read, whatever their case; views are left out."""
    made = make_root(tmp_path, unload(0, NOON))
    relations = [
        ("RELATION", (f"c.s.{name}", "s", domain, number, "c", name, *[None] * 8), *[None] * 3, NOON)
        for name, domain, number in (("t", "Table", TABLE_ID), ("v", "VIEW", 10))
    ]
    attributes = [
        ("ATTRIBUTE", None, (number, name, table, "t", "s", "c", number, None, "YES", "int", *[None] * 3),
         *[None] * 2, NOON)
        for number, name, table in ((1, "A", TABLE_ID), (3, "z", TABLE_ID), (4, "y", 10))
    ]  # fmt: skip
    add_catalog(made, relations + attributes)
    found = ask(
        made, "SELECT object_name, column_name, last_read, table_last_read, history_begins"
        " FROM usage.unused_columns ORDER BY 2",
    )  # fmt: skip
    assert [row for row in found if row[1] != "A"] == [("c.s.t", "z", None, NOON, NOON)]


def test_users_by_day(root):
    """Statements of a day; denials are failures, and what happened to the logging is none."""
    found = ask(
        root, "SELECT query_date, user_name, statements, failed_statements, last_statement_on"
        " FROM usage.users_by_day WHERE query_date <= DATE'2026-11-19' ORDER BY 1, 2",
    )  # fmt: skip
    assert found == [
        (DAYS[0].date(), "ann", 2, 0, DAYS[0]), (DAYS[0].date(), "bob", 1, 1, DAYS[0]),
        (DAYS[1].date(), "ann", 2, 0, DAYS[1]), (DAYS[1].date(), "bob", 1, 1, DAYS[1]),
    ]  # fmt: skip


def test_users_last_active(root):
    """The last of all statements, whatever became of it."""
    found = ask(root, "SELECT user_name, last_statement_on FROM usage.users_last_active ORDER BY 1")
    by_day = "SELECT user_name, max(last_statement_on) FROM usage.users_by_day GROUP BY 1 ORDER BY 1"
    assert found == ask(root, by_day)
    assert len(found) > 1


def test_sessions(root):
    """Without an attach on record it begins with the first statement; what has no session is left out."""
    found = ask(
        root, "SELECT session_id, user_name, created_on, last_statement_on, statements, detached_on"
        " FROM usage.sessions",
    )  # fmt: skip
    assert found == [("s", "ann", DAYS[0], NOON, 3, None)]


def test_aggregates(root):
    """An hour each; sums are those of the statements."""
    columns = "interval_start_time, interval_end_time, calls"
    query = (
        f"SELECT {columns}, failed, rows_produced.sum FROM usage.aggregate_query_history"
        " WHERE query_parameterized_hash = 'h' ORDER BY 1"
    )
    assert ask(root, query) == [(at, at + timedelta(hours=1), 1, 0, 5) for at in DAYS]
    query = (
        f"SELECT {columns}, objects_modified[0].objectName FROM usage.aggregate_access_history"
        " WHERE query_parameterized_hash = 'h' ORDER BY 1"
    )
    assert ask(root, query) == [(at, at + timedelta(hours=1), 1, "file:/x") for at in DAYS]
    ((denied,),) = ask(root, "SELECT sum(denied) FROM usage.aggregate_query_history")
    assert denied == 3


def test_as_unity_catalog_shows_it(root):
    """Events of a statement, its lineage, its figures; what has no meaning is NULL."""
    found = ask(
        root, "SELECT action_name, request_params.full_name_arg, response.status_code, workspace_id"
        " FROM usage.system_access_audit WHERE request_id IN ('q0', 'f0', 'd7') ORDER BY ALL",
    )  # fmt: skip
    assert found == [
        ("commandSubmit", None, 200, None), ("commandSubmit", None, 200, None),
        ("commandSubmit", None, 403, None), ("getTable", "c.s.t", 200, None),
        ("getTable", "c.s.t", 403, None),
        ("updatePermissions", "c.s.t", 200, None),
    ]  # fmt: skip
    ((changes,),) = ask(
        root, "SELECT request_params.changes FROM usage.system_access_audit WHERE event_id LIKE 'd6/update%'"
    )
    assert changes == '[{"principal":"bob","remove":["SELECT"]}]'
    ends = (
        "SELECT DISTINCT source_table_name, source_type, target_path, target_type FROM usage.system_access_"
    )
    assert ask(root, f"{ends}table_lineage") == [("t", "TABLE", "file:/x", "PATH")]
    assert ask(root, f"{ends}column_lineage") == [("t", "TABLE", "file:/x", "PATH")]
    ((status, produced, fields),) = ask(
        root, "SELECT execution_status, produced_rows, query_source.notebook_id"
        " FROM usage.system_query_history WHERE statement_id = 'q0'",
    )  # fmt: skip
    assert (status, produced, fields) == ("FINISHED", 5, None)


def test_as_bigquery_shows_it(root):
    """An error has a reason; a project is a catalog."""
    found = ask(
        root, "SELECT job_type, error_result.reason, referenced_tables, state"
        " FROM usage.information_schema_jobs WHERE job_id IN ('q0', 'f0') ORDER BY 1",
    )  # fmt: skip
    table = {"project_id": "c", "dataset_id": "s", "table_id": "t"}
    assert found == [("EXTRACT", None, [table], "DONE"), ("QUERY", "E", [table], "DONE")]
