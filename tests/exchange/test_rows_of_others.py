"""`audit export access-history`: rows as Snowflake and Unity Catalog have them."""

from __future__ import annotations

import json

import pytest

from tests.query.columns_of_snowflake import COLUMNS

from .roots import PEOPLE, id_of, query_id


@pytest.fixture(scope="module")
def rows(exchanged, command):
    """The rows of a format."""

    def asked(*options):
        said = command("export", "access-history", *options, "--root", exchanged).stdout
        return [json.loads(line) for line in said.splitlines()]

    return asked


def test_snowflake_columns(rows):
    """All of its view, in its order, and none of ours; the newest four have no meaning here."""
    found = rows("--format", "snowflake-json")
    assert {tuple(row) for row in found} == {tuple(COLUMNS["access_history"].upper().split())}
    assert len(found) == 9


def test_snowflake_values(rows):
    """Lists are lists, a time has its offset, fields without a value are left out."""
    by_id = {row["QUERY_ID"]: row for row in rows("--format", "snowflake-json")}
    created, made = by_id[query_id(0)], by_id[query_id(3)]
    assert created["OBJECT_MODIFIED_BY_DDL"] == {
        "objectDomain": "Table", "objectId": id_of(PEOPLE), "objectName": PEOPLE, "operationType": "CREATE",
        "properties": {},
    }  # fmt: skip
    assert (created["DIRECT_OBJECTS_ACCESSED"], created["QUERY_START_TIME"]) == (
        [],
        "2026-11-20 12:00:00.000000 +0000",
    )
    assert made["OBJECT_MODIFIED_BY_DDL"] is None
    (policy,) = made["POLICIES_REFERENCED"][0]["columns"][0]["policies"]
    assert policy == {"policyName": "spark_catalog.p.hide", "policyId": 70, "policyKind": "MASKING_POLICY"}
    assert by_id[query_id(8)]["PARENT_QUERY_ID"] == query_id(7)


def test_unity_table_lineage(rows):
    """A read has no target; a path is no table."""
    found = rows("--format", "unity-json")
    load = next(row for row in found if row["statement_id"] == query_id(1))
    assert (load["source_path"], load["source_type"], load["target_table_full_name"]) == (
        "file:/in/people.csv",
        "PATH",
        PEOPLE,
    )
    read = next(row for row in found if row["statement_id"] == query_id(2))
    assert (read["source_table_name"], read["target_table_full_name"]) == ("people", None)
    assert "query_date" not in load
    assert load["event_time"] == "2026-11-20T12:01:00.000000Z"
    assert load["event_date"] == "2026-11-20"


def test_unity_column_lineage(rows):
    """Columns that gave a value."""
    found = rows("--format", "unity-json", "--rows", "column_lineage")
    made = {
        (row["source_column_name"], row["target_column_name"])
        for row in found
        if row["statement_id"] == query_id(3)
    }
    assert made == {("name", "name"), ("ssn", "ssn"), ("total", "total")}
