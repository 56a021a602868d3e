"""The rows of a statement: what they hold for each way to end, and that spool and tables can hold them."""

from __future__ import annotations

import json
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.record.access_record import (
    Ended,
    Finding,
    ObjectVersion,
    Started,
    Status,
    build_row,
    canonical_json,
    names_in,
    objects_named,
)
from audit.record.record_hash import record_hash
from audit.spool.entry import decode, encode
from audit.store.tables import ACCESS_HISTORY, COLUMN_LINEAGE, QUERY_HISTORY, TABLE_LINEAGE
from lineage import Access, MemoryCatalog, analyze, parse

CATALOG = MemoryCatalog(
    {"s.t": {"a": "int", "b": "int"}, "s.u": {"a": "int"}, "s.`odd.tab`": {"a.b": "int"}},
    current_schema="s",
)
BEGAN = 1_643_127_467_388_001
STATUSES = typing.get_args(Status)
TEXTS = st.text()
SOME = st.none() | TEXTS
STARTED = st.builds(
    Started,
    TEXTS,
    st.integers(0, 2**62),
    TEXTS,
    TEXTS,
    TEXTS,
    TEXTS,
    st.booleans(),
    *[SOME] * 9,
    objects_tried=st.lists(TEXTS, max_size=3).map(tuple),
)
ENDED = st.builds(
    Ended,
    st.sampled_from(STATUSES),
    st.none() | st.integers(0, 2**62),
    SOME,
    SOME,
    st.none() | st.integers(0, 2**62),
)


def started(text="SELECT a FROM t", **more):
    """A statement of ann's that starts."""
    known = {"database_name": "spark_catalog", "schema_name": "s", "is_sql": True} | more
    return Started("q1", BEGAN, "ann", text, parse(text).statement_type, "SparkSession.sql", **known)


def row_of(text, status="SUCCESS", **more):
    """The rows of a statement, analysed over the catalog of this module."""
    finding = Finding(analyze(text, CATALOG), "text") if status == "SUCCESS" else None
    return build_row(started(text, **more), Ended(status, BEGAN + 5_999), finding)


@given(STARTED)
def test_a_start_comes_back_from_the_spool(one):
    """Every field, whatever its text; what nobody has said takes no room."""
    written = one.to_dict()
    assert not any(value is None or value is False or value == () for value in written.values())
    entry = decode(encode("S", one.query_id, written)[:-1])
    assert Started.from_dict(entry.payload) == one


@given(ENDED)
def test_an_end_comes_back_from_the_spool(one):
    """The entry has the query id beside it, which is no part of the end."""
    entry = decode(encode("E", "q1", one.to_dict())[:-1])
    assert Ended.from_dict(entry.payload) == one


def test_a_start_of_an_older_driver_lacks_what_is_optional():
    """Recovery reads the spool of a driver that knew fewer fields."""
    text = ("query_id", "user_name", "query_text", "query_type", "action")
    found = Started.from_dict({**dict.fromkeys(text, "x"), "start_time": 1})
    assert (found.is_sql, found.role_name, found.objects_tried) == (False, None, ())


@pytest.mark.parametrize("status", STATUSES)
def test_only_a_statement_that_succeeded_has_an_access_record(status):
    """ACCESS_HISTORY: failed queries, "although logged in the QUERY_HISTORY view, will not be logged"."""
    finding = Finding(analyze("INSERT INTO u SELECT a FROM t", CATALOG), "text")
    row = build_row(started("INSERT INTO u SELECT a FROM t"), Ended(status, BEGAN), finding)
    assert row["query"]["execution_status"] == status
    assert len(row["access"]) == (status == "SUCCESS")
    assert ("edges" in row) == (status == "SUCCESS")


@pytest.mark.parametrize("status", STATUSES)
def test_every_statement_names_the_objects_that_it_tried(status):
    """docs/reference/tables.md: objects_tried are "the objects that the statement names"."""
    row = row_of("INSERT INTO u SELECT a FROM t", status)
    assert {*row["query"]["objects_tried"]} == {"spark_catalog.s.t", "spark_catalog.s.u"}


@pytest.mark.parametrize(
    ("end", "elapsed"),
    [(BEGAN, 0), (BEGAN + 999, 0), (BEGAN + 1_000, 1), (BEGAN + 86_400_000_000, 86_400_000)],
)
def test_elapsed_time_is_in_milliseconds(end, elapsed):
    """Whole ones between start and end."""
    query = build_row(started(), Ended("FAIL", end), None)["query"]
    assert query["total_elapsed_time"] == elapsed


@pytest.mark.parametrize("status", ["RUNNING", "INCOMPLETE"])
def test_a_statement_without_an_end_has_no_time_of_it(status):
    """docs/reference/tables.md: end_time is "null while it runs or after a crash"."""
    query = build_row(started(), Ended(status), None)["query"]
    assert query.keys().isdisjoint({"end_time", "total_elapsed_time", "error_code", "rows_produced"})
    assert query["start_time"] == "2022-01-25T16:17:47.388001Z"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a FROM t",
        "INSERT OVERWRITE u SELECT a + 1 FROM t WHERE b > 1",
        "CREATE TABLE n AS SELECT a, sum(b) AS c FROM t GROUP BY a",
        "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = 1 WHEN NOT MATCHED THEN INSERT *",
        "DELETE FROM t WHERE a IN (SELECT a FROM u)",
        "CREATE VIEW v AS SELECT a FROM t",
        "ALTER TABLE t SWAP WITH u",
        "ALTER TABLE t ADD COLUMN c INT",
        "ALTER TABLE t RENAME TO t2",
        "DROP TABLE t",
        "SELECT `a.b` FROM `odd.tab`",
        "not SQL at all (",
        "",
    ],
)
def test_the_tables_have_a_column_for_all_that_a_row_holds(text):
    """A key that no table has would be dropped by ingest in silence; a null is left out."""
    row = row_of(text)
    names = {table: {name for name, _, _ in table.columns} for table in (QUERY_HISTORY, ACCESS_HISTORY)}
    assert row["query"].keys() <= names[QUERY_HISTORY]
    assert None not in row["query"].values()
    for access in row["access"]:
        assert access.keys() <= names[ACCESS_HISTORY]
        assert None not in access.values()
        assert access["query_id"] == row["query"]["query_id"] == "q1"
        assert access["query_start_time"] == row["query"]["start_time"]
        assert access["record_hash"] == record_hash(access)
    for target in row.get("edges", ()):
        of_target = target.keys() - {"columns", "tables"}
        for part, table in (("columns", COLUMN_LINEAGE), ("tables", TABLE_LINEAGE)):
            known = {name for name, _, _ in table.columns} | {"source_kinds", "overwrites"}
            assert all(edge.keys() | of_target <= known for edge in target[part])
    assert json.loads(encode("R", "q1", row)[11:])["query"]["query_text"] == text


def test_properties_of_ddl_are_json_text():
    """They differ from operation to operation; sorted keys make equal properties equal texts."""
    (access,) = row_of("ALTER TABLE t ADD COLUMN c INT")["access"]
    text = access["object_modified_by_ddl"]["properties"]
    assert json.loads(text)["columns"]["c"]["subOperationType"] == "ADD"
    (dropped,) = row_of("DROP TABLE t")["access"]
    assert dropped["object_modified_by_ddl"]["properties"] == "{}"


def test_text_that_is_no_utf_8_is_told_by_its_escapes():
    """A column may have any name that Python can hold; its statement is recorded all the same."""
    assert canonical_json({"b": {"\udc80": 1}, "a": "\udc80"}) == r'{"a":"\\udc80","b":{"\\udc80":1}}'
    row = row_of("ALTER TABLE t ADD COLUMN `c\udc80` INT")
    assert "udc80" in encode("R", "q1", row).decode()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT * FROM t", ["c.s.t"]),
        ("SELECT * FROM t, s2.t, c2.s2.t, t", ["c.s.t", "c.s2.t", "c2.s2.t"]),
        ("WITH t AS (SELECT 1) SELECT * FROM t", []),
        ("SELECT * FROM `odd.tab`", ["c.s.`odd.tab`"]),
        ("SELECT * FROM `a``b`", ["c.s.`a``b`"]),
        ("SELECT * FROM `日本`.`x y`", ["c.日本.x y"]),
        ("SELECT 1", []),
        ("SELECT * FROM (", []),
        ("CREATE SCHEMA hr", ["c.hr"]),
        ("DROP SCHEMA c2.hr CASCADE", ["c2.hr"]),
        ("CREATE SCHEMA a CLONE b", ["c.a", "c.b"]),
        ("GRANT USAGE ON SCHEMA hr TO ROLE x", ["c.hr"]),
        ("GRANT SELECT ON TABLE t TO ROLE x", ["c.s.t"]),
        ("CREATE ROLE hr", ["HR"]),
        ("GRANT ROLE hr TO USER ann", ["HR"]),
        ("", []),
    ],
)
def test_names_are_written_as_records_write_them(text, names):
    """Fully qualified, a part with a dot in back-ticks, each once, whether Spark accepts the text or not."""
    assert [*names_in(parse(text), "c", "s")] == names


@pytest.mark.parametrize(
    ("text", "name"),
    [("SELECT * FROM t", "t"), ("SELECT * FROM s.t", "s.t"), ("SELECT * FROM c.s.t", "c.s.t")],
)
def test_names_have_no_empty_parts_where_the_current_schema_is_unknown(text, name):
    """A session that is not audited does not say where it is."""
    assert names_in(parse(text), "", "") == (name,)
    query = row_of(text, "FAIL", database_name=None, schema_name=None)["query"]
    assert [*query["objects_tried"]] == [name]


def test_names_from_text_and_from_the_analysis_are_the_same():
    """Who looks for an object in objects_tried finds failed statements under the name of the others."""
    text = "INSERT INTO u SELECT `a.b` FROM `odd.tab`"
    by_text = {*names_in(parse(text), "spark_catalog", "s")}
    assert (
        by_text
        == {*objects_named(analyze(text, CATALOG))}
        == {"spark_catalog.s.u", "spark_catalog.s.`odd.tab`"}
    )


@pytest.mark.parametrize(
    ("one", "other", "same", "same_but_literals"),
    [
        ("SELECT a FROM t", "select  A\n from T -- x", True, True),
        ("SELECT a FROM t", "SELECT a /* x */ FROM t", True, True),
        ("SELECT 1", "SELECT 2", False, True),
        ("SELECT 'x' FROM t", "SELECT 'X' FROM t", False, True),
        ("SELECT a FROM t", "SELECT b FROM t", False, False),
        ("SELECT a FROM t", "SELECT a FROM u", False, False),
    ],
)
def test_hashes_tell_texts_apart(one, other, same, same_but_literals):
    """docs/reference/tables.md: query_hash "the same for texts that differ in white space, comments and
    case only", query_parameterized_hash "for texts that differ in literals, too".
    """
    first, second = (row_of(text, "FAIL")["query"] for text in (one, other))
    assert (first["query_hash"] == second["query_hash"]) is same
    parameterized = [query["query_parameterized_hash"] for query in (first, second)]
    assert (parameterized[0] == parameterized[1]) is same_but_literals


def test_a_call_that_is_no_sql_is_not_parsed():
    """The text of a DataFrame's action is a plan: it has the hash of its plan, and no names."""
    call = Started("q1", BEGAN, "ann", "SELECT a FROM t", "SELECT", "DataFrame.collect")
    query = build_row(call, Ended("FAIL", BEGAN), None)["query"]
    assert query.keys().isdisjoint({"query_hash", "query_parameterized_hash", "objects_tried"})
    finding = Finding(Access("SELECT"), "plan", query_text="the plan", query_hash="h", query_type="INSERT")
    query = build_row(call, Ended("SUCCESS", BEGAN), finding)["query"]
    assert (query["query_text"], query["query_hash"], query["query_type"]) == ("the plan", "h", "INSERT")


def test_the_analysis_adds_what_it_measured():
    """Rows and bytes are Spark's; rows that the caller counted stay where the analysis has none."""
    ended = Ended("SUCCESS", BEGAN, rows_produced=3)
    least = build_row(started(), ended, Finding(Access("SELECT"), "text"))["query"]
    assert (least["rows_produced"], "bytes_scanned" in least) == (3, False)
    measured = Finding(Access("SELECT"), "text", rows_produced=0, bytes_scanned=7, bytes_written=0)
    query = build_row(started(), ended, measured)["query"]
    assert (query["rows_produced"], query["bytes_scanned"], query["bytes_written"]) == (0, 7, 0)


def test_versions_and_their_reason_are_in_the_record():
    """What was read and written at which version; an id that nobody knows is left out."""
    versions = (ObjectVersion("c.s.t", "read", 0, 5), ObjectVersion("c.s.u", "write", 7))
    access = Access("INSERT", analysis="partial", reason="why")
    row = build_row(started(), Ended("SUCCESS", BEGAN), Finding(access, "listener", versions))
    (record,) = row["access"]
    assert record["object_versions"] == [
        {"objectName": "c.s.t", "objectId": 5, "access": "read", "version": 0},
        {"objectName": "c.s.u", "access": "write", "version": 7},
    ]
    assert (record["captured_by"], record["analysis"], record["analysis_reason"]) == (
        "listener",
        "partial",
        "why",
    )
