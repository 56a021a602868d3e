"""The record in the document's own JSON: its examples, key by key."""

from __future__ import annotations

import hashlib
import json

import pytest

from lineage import MemoryCatalog, analyze

# ACCESS_HISTORY, Columns: the examples of each column's value. Words in capitals stand for a type there.
OBJECTS = """[
  {"objectDomain": "FUNCTION", "objectName": "GOVERNANCE.FUNCTIONS.RETURN_SUM", "objectId": 2,
   "argumentSignature": "(NUM1 NUMBER, NUM2 NUMBER)", "dataType": "NUMBER(38,0)"},
  {"columns": [{"columnId": 68610, "columnName": "CONTENT"}],
   "objectDomain": "Table", "objectId": 66564, "objectName": "GOVERNANCE.TABLES.T1"}
]"""
MODIFIED = """[
  {"objectDomain": "STRING", "objectId": 1, "objectName": "STRING",
   "columns": [{"columnId": 1, "columnName": "STRING",
     "baseSources": [{"columnName": "S", "objectDomain": "S", "objectId": 1, "objectName": "S"}],
     "directSources": [{"columnName": "S", "objectDomain": "S", "objectId": 1, "objectName": "S"}]}]}
]"""
DDL = """{"objectDomain": "S", "objectName": "S", "objectId": 1, "operationType": "S", "properties": {}}"""
POLICIES = """[
  {"columns": [{"columnId": 68610, "columnName": "SSN", "policies": [
      {"policyName": "governance.policies.ssn_mask", "policyId": 68811, "policyKind": "MASKING_POLICY"}]}],
   "objectDomain": "VIEW", "objectId": 66564, "objectName": "GOVERNANCE.VIEWS.V1",
   "policies": [
      {"policyName": "governance.policies.rap1", "policyId": 68813, "policyKind": "ROW_ACCESS_POLICY"}]}
]"""
COLUMNS = """{"email": {"objectId": {"value": 1}, "subOperationType": "ADD"}}"""


def catalog() -> MemoryCatalog:
    """The document's own world: GOVERNANCE with its tables, views, functions and policies."""
    return MemoryCatalog(
        {
            "GOVERNANCE.TABLES.T1": {"CONTENT": "INT", "SSN": "STRING", "REGION": "STRING"},
            "GOVERNANCE.TABLES.T2": {"TOTAL": "INT", "SSN": "STRING"},
        },
        {"GOVERNANCE.VIEWS.V1": "SELECT CONTENT, SSN, REGION FROM GOVERNANCE.TABLES.T1"},
        {
            "GOVERNANCE.FUNCTIONS.RETURN_SUM": "CREATE FUNCTION RETURN_SUM(NUM1 NUMBER, NUM2 NUMBER) "
            "RETURNS NUMBER(38,0) LANGUAGE PYTHON AS $$sum$$"
        },
        {
            "governance.policies.ssn_mask": "CREATE MASKING POLICY m AS (v STRING) RETURNS STRING "
            "-> upper(v)",
            "governance.policies.rap1": "CREATE ROW ACCESS POLICY r AS (v STRING) RETURNS BOOLEAN "
            "-> v = 'EU'",
        },
        attached=[
            "ALTER VIEW GOVERNANCE.VIEWS.V1 ALTER COLUMN SSN SET MASKING POLICY governance.policies.ssn_mask",
            "ALTER VIEW GOVERNANCE.VIEWS.V1 ADD ROW ACCESS POLICY governance.policies.rap1 ON (REGION)",
        ],
        current_schema="GOVERNANCE.TABLES",
    )


def shape(value):
    """A value with what is in it replaced by its type; the keys of objects stay."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


def without_column_id(value):
    """The document's sources have no columnId; ours say it, so that a renamed column is still found."""
    if isinstance(value, dict):
        return {k: without_column_id(v) for k, v in value.items() if k != "columnId"}
    return [without_column_id(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def record():
    """A statement that fills four of the five columns."""
    sql = (
        "INSERT INTO T2 SELECT GOVERNANCE.FUNCTIONS.RETURN_SUM(CONTENT, 1), SSN FROM GOVERNANCE.VIEWS.V1 "
        "UNION ALL SELECT CONTENT, SSN FROM T1"
    )
    access = analyze(sql, catalog())
    assert access.analysis == "full"
    return access.to_dict()


def test_the_record_has_the_documents_columns(record):
    """ACCESS_HISTORY, Columns; the record's own columns (query_id, user_name, …) are not lineage's."""
    assert list(record) == [
        "direct_objects_accessed",
        "base_objects_accessed",
        "objects_modified",
        "object_modified_by_ddl",
        "policies_referenced",
    ]
    assert json.loads(json.dumps(record)) == record


@pytest.mark.parametrize("column", ["direct_objects_accessed", "base_objects_accessed"])
def test_accessed_objects_have_the_documents_keys(record, column):
    """Tables and functions, each with the fields of its kind and no other."""
    by_domain = {entry["objectDomain"]: entry for entry in record[column]}
    function, table = json.loads(OBJECTS)
    assert shape(by_domain["FUNCTION"]) == shape(function)
    assert shape(by_domain["Table"]) == shape(table)
    assert by_domain["FUNCTION"]["argumentSignature"] == function["argumentSignature"]
    assert by_domain["FUNCTION"]["dataType"] == function["dataType"]
    assert by_domain["FUNCTION"]["objectName"] == function["objectName"]
    assert by_domain["Table"]["objectName"] == table["objectName"]


def test_views_stand_in_the_direct_objects_alone(record):
    """The view is named, its table is the base."""
    assert {e["objectDomain"] for e in record["direct_objects_accessed"]} == {"VIEW", "Table", "FUNCTION"}
    assert {e["objectDomain"] for e in record["base_objects_accessed"]} == {"Table", "FUNCTION"}


def test_modified_objects_have_the_documents_keys(record):
    """Each column with its baseSources and directSources."""
    ours = record["objects_modified"]
    assert [c["columnName"] for c in ours[0]["columns"]] == ["TOTAL", "SSN"]
    assert without_column_id(shape(ours)) == without_column_id(shape(json.loads(MODIFIED)))
    assert "columnId" in ours[0]["columns"][0]


def without_version(value):
    """The document's policies have no policyVersion; ours say which body was in force."""
    if isinstance(value, dict):
        return {k: without_version(v) for k, v in value.items() if k != "policyVersion"}
    return [without_version(item) for item in value] if isinstance(value, list) else value


def test_policies_referenced_have_the_documents_keys(record):
    """The example is a view with both kinds of policies: ours differs in its ids, and says more."""
    ours, theirs = record["policies_referenced"], json.loads(POLICIES)
    assert without_version(shape(ours)) == shape(theirs)
    text = b"(v STRING) RETURNS STRING -> upper(v)"
    assert ours[0]["columns"][0]["policies"][0]["policyVersion"] == hashlib.sha256(text).hexdigest()
    assert ours[0]["objectName"] == theirs[0]["objectName"]
    assert ours[0]["objectDomain"] == theirs[0]["objectDomain"]
    names = [p["policyName"] for p in (*ours[0]["columns"][0]["policies"], *ours[0]["policies"])]
    assert names == ["governance.policies.ssn_mask", "governance.policies.rap1"]


def test_a_query_of_a_masked_view_is_the_documents_example():
    """A query of the view alone: one entry, one column, one policy of each kind."""
    ours = analyze("SELECT SSN FROM GOVERNANCE.VIEWS.V1", catalog()).to_dict()["policies_referenced"]
    kinds = [p["policyKind"] for entry in ours for p in entry["policies"]]
    assert kinds == ["ROW_ACCESS_POLICY"]
    assert [c["columnName"] for c in ours[0]["columns"]] == ["SSN"]


def test_ddl_has_the_documents_keys():
    """object_modified_by_ddl; a compound property by name with objectId and subOperationType."""
    ddl = analyze("ALTER TABLE T1 DROP COLUMN SSN", catalog()).to_dict()["object_modified_by_ddl"]
    properties = ddl.pop("properties")
    theirs = json.loads(DDL)
    theirs.pop("properties")
    assert shape(ddl) == shape(theirs)
    assert shape(properties["columns"]["SSN"]) == shape(json.loads(COLUMNS)["email"])


def test_what_is_not_said_is_left_out():
    """Document: "If the query does not access a stage, this field is omitted"; a query changes nothing."""
    record = analyze("SELECT CONTENT FROM T1", catalog()).to_dict()
    assert record["objects_modified"] == []
    assert record["object_modified_by_ddl"] is None
    assert record["policies_referenced"] == []
    assert not {"location", "stageKind"} & record["direct_objects_accessed"][0].keys()


def test_a_stage_has_its_location_and_kind():
    """Document: location, stageKind "when writing to a stage"."""
    written = analyze("COPY INTO 's3://mybucket/a' FROM T1", catalog()).to_dict()["objects_modified"][0]
    assert written["location"] == "s3://mybucket/a"
    assert written["stageKind"] == "External Named"
    assert written["objectDomain"] == "STAGE"
