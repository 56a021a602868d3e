"""What the record says of definitions, copies and functions, beyond what was read and written."""

from __future__ import annotations

import json

import pytest

from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES


def recorded(session, text):
    """The row of access_history of a statement, which runs now."""
    session.sql(text).collect()
    return next(one.access[0] for one in reversed(records(session)) if one.query.query_text == text)


def ids_in(table):
    """The ids of a table's columns, as a query of it has them."""
    return {c.columnName: c.columnId for c in table.columns}


@pytest.mark.slow("three copies, and nothing of a module before it to warm up the JVM")
def test_a_copy_names_the_columns_of_the_new_table(session, schema):
    """LIKE and CLONE: each column under its name, with the identifier that later reads of it have."""
    session.sql("CREATE TABLE src AS SELECT 1 AS id, 2 AS amount")
    for text in (
        "CREATE TABLE alike LIKE src",
        "CREATE TABLE copied CLONE src",
        "CREATE OR REPLACE TABLE copied CLONE src",
    ):
        made = recorded(session, text)
        (name,) = {"alike", "copied"} & set(text.split())
        (source,) = recorded(session, "SELECT id, amount FROM src").base_objects_accessed
        (target,) = recorded(session, f"SELECT id, amount FROM {name}").base_objects_accessed
        properties = json.loads(made.object_modified_by_ddl.properties)
        found = {column: one["objectId"]["value"] for column, one in properties["columns"].items()}
        assert found == ids_in(target), text
        assert found.keys() == ids_in(source).keys()
        assert set(found.values()).isdisjoint(ids_in(source).values())
        assert properties["creationSource"]["objectId"] == source.objectId


def test_a_clone_says_which_version_it_read(session, schema):
    """The latest, or the one that it asks for, beside the one that it wrote."""
    session.sql("CREATE TABLE src (id INT)")
    session.sql("INSERT INTO src VALUES (1)")
    for text, version in (
        ("CREATE TABLE one CLONE src", 1),
        ("CREATE TABLE two CLONE src AT (VERSION => 0)", 0),
        ("CREATE TABLE three SHALLOW CLONE src VERSION AS OF 0", 0),
        ("CREATE OR REPLACE TABLE three CLONE src", 2),  # the first clone has pinned its source
    ):
        row = recorded(session, text)
        name = text.split(" TABLE ")[1].split()[0]
        found = {(v.objectName.rpartition(".")[2], v.access): v.version for v in row.object_versions}
        assert found.get(("src", "read")) == version, (text, found, row.captured_by, row.analysis_reason)
        assert (name, "write") in found, (text, found)


def test_what_did_not_exist_is_not_replaced(session, schema):
    """CREATE OR REPLACE of a new view, or of a new table, is a CREATE."""
    for text in (
        "CREATE OR REPLACE VIEW seen AS SELECT 1 AS a",
        "CREATE OR REPLACE TABLE made AS SELECT 1 AS a",
    ):
        operations = [recorded(session, text).object_modified_by_ddl.operationType for _ in range(2)]
        assert operations == ["CREATE", "REPLACE"], text


def test_a_parameter_of_the_account_reads_nothing(session):
    """What the system keeps it in is no object of the statement."""
    for text in (
        "ALTER ACCOUNT SET DATA_RETENTION_TIME_IN_DAYS = 3",
        "ALTER ACCOUNT UNSET DATA_RETENTION_TIME_IN_DAYS",
    ):
        row = recorded(session, text)
        assert (row.direct_objects_accessed, row.base_objects_accessed, row.objects_modified) == ([], [], [])
        assert (row.analysis, row.object_versions) == ("full", [])


def test_a_function_says_what_it_returns(session, schema):
    """Of one in Python nobody knows what it takes; a SQL function has both."""
    session.udf.register("doubled", lambda n: 2 * n, "bigint")
    session.sql("CREATE FUNCTION added(n INT, m INT) RETURNS INT RETURN n + m")
    row = recorded(session, "SELECT doubled(added(1, 2)) AS x")
    found = {
        o.objectName.rpartition(".")[2]: (o.argumentSignature, o.dataType)
        for o in row.direct_objects_accessed
    }
    assert found == {"doubled": (None, "bigint"), "added": ("(n int, m int)", "int")}
