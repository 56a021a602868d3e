"""`audit export openlineage`: which events there are, and what each facet says."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.query.roots import make_root

from .roots import DAYS, Root, query_id, thing


def ended(events, number):
    """The event with which a statement ended."""
    (found,) = [
        one for one in events if one["run"]["runId"] == query_id(number) and one["eventType"] != "START"
    ]
    return found


def bare(facet):
    """What a facet says beside where it is from."""
    return {name: value for name, value in facet.items() if not name.startswith("_")}


def names(datasets):
    """The datasets of an event, as text."""
    return [f"{one['namespace']} {one['name']}" for one in datasets]


def test_each_statement_starts_and_ends(events):
    """One that runs has no end yet; events of the logging and lost records are no statements."""
    assert Counter(one["eventType"] for one in events) == {"START": 13, "COMPLETE": 9, "FAIL": 2, "ABORT": 1}
    assert [one["eventTime"] for one in events[:2]] == [
        "2026-11-20T12:00:00.000000Z",
        "2026-11-20T12:00:05.000000Z",
    ]
    assert {one["eventType"] for one in events if one["run"]["runId"] == query_id(10)} == {"START"}


def test_a_start_names_datasets_alone(events):
    """What a facet says of a write is so when it has been done."""
    (start,) = [one for one in events if one["run"]["runId"] == query_id(1) and one["eventType"] == "START"]
    assert start["inputs"] == [{"namespace": "file", "name": "/in/people.csv"}]
    assert start["outputs"] == [{"namespace": "spark://local", "name": "spark_catalog.p.people"}]


def test_column_lineage(events):
    """DIRECT with its subtype, INDIRECT for a column and for all of them, and masking."""
    (output,) = ended(events, 3)["outputs"]
    facet = output["facets"]["columnLineage"]
    people = {"namespace": "spark://local", "name": "spark_catalog.p.people"}

    def step(kind, subtype=None, *, masking=False):
        return [{"type": kind, **({"subtype": subtype} if subtype else {}), "masking": masking}]

    assert facet["fields"] == {
        "name": {"inputFields": [{**people, "field": "name", "transformations": step("DIRECT", "IDENTITY")}]},
        "ssn": {
            "inputFields": [
                {**people, "field": "ssn", "transformations": step("DIRECT", "TRANSFORMATION", masking=True)}
            ]
        },
        "total": {
            "inputFields": [
                {
                    "namespace": "spark://local", "name": "lake.sales.orders", "field": "total",
                    "transformations": step("DIRECT", "AGGREGATION"),
                },
                {**people, "field": "name", "transformations": step("INDIRECT")},
            ]
        },
    }  # fmt: skip
    assert facet["dataset"] == [{**people, "field": "ssn", "transformations": step("INDIRECT", masking=True)}]


def test_schema_is_the_measured_one_where_there_is_one(events):
    """Else the columns that the record names, without types."""
    load = ended(events, 1)
    assert bare(load["outputs"][0]["facets"]["schema"]) == {
        "fields": [
            {"name": "name", "type": "string", "ordinal_position": 1},
            {"name": "ssn", "type": "string", "ordinal_position": 2, "description": "Social security number"},
        ]
    }
    assert bare(load["inputs"][0]["facets"]["schema"]) == {"fields": [{"name": "name"}, {"name": "ssn"}]}


def test_version_owner_storage_and_place(events):
    """Of a table that was measured."""
    facets = ended(events, 1)["outputs"][0]["facets"]
    assert bare(facets["version"]) == {"datasetVersion": "1"}
    assert bare(facets["ownership"]) == {"owners": [{"name": "STEWARD", "type": "OWNER"}]}
    assert bare(facets["storage"]) == {"storageLayer": "delta", "fileFormat": "parquet"}
    assert bare(facets["documentation"]) == {"description": "Who they are"}
    assert bare(facets["symlinks"]) == {
        "identifiers": [{"namespace": "file", "name": "/data/warehouse/people-1", "type": "LOCATION"}]
    }
    assert bare(ended(events, 2)["inputs"][0]["facets"]["version"]) == {"datasetVersion": "1"}


def test_tags_are_those_of_the_time(events):
    """The tag was set between the first statement and the second."""
    assert "tags" not in ended(events, 0)["outputs"][0]["facets"]
    (tag,) = ended(events, 1)["outputs"][0]["facets"]["tags"]["tags"]
    assert tag == {"key": "spark_catalog.p.pii", "value": "high", "source": "SPARK", "field": "ssn"}


def test_who_and_what_for_are_tags_of_the_run(events):
    """And how much of it was analysed."""
    run = ended(events, 1)["run"]["facets"]
    told = {one["key"]: one["value"] for one in run["tags"]["tags"]}
    assert told == {
        "user_name": "ann", "role_name": "ANALYST", "query_tag": "nightly", "purpose": "load",
        "session_id": "s1", "captured_by": "text", "analysis": "full",
    }  # fmt: skip
    assert bare(run["processing_engine"])["version"] == "4.2.0"


def test_statistics(events):
    """Of what was written, and of what was read where it is one."""
    load = ended(events, 1)
    assert bare(load["outputs"][0]["outputFacets"]["outputStatistics"]) == {"rowCount": 3, "size": 900}
    assert bare(load["inputs"][0]["inputFacets"]["inputStatistics"]) == {"size": 100}
    assert all(not one["inputFacets"] for one in ended(events, 3)["inputs"])


@pytest.mark.parametrize(
    ("number", "change"), [(0, "CREATE"), (1, None), (3, "OVERWRITE"), (4, "CREATE"), (12, "DROP")]
)
def test_life_cycle(events, number, change):
    """What a statement did to the dataset as a whole."""
    facets = ended(events, number)["outputs"][0]["facets"]
    assert (bare(facets["lifecycleStateChange"])["lifecycleStateChange"] if change else None) == change
    assert change or "lifecycleStateChange" not in facets


def test_a_view_is_an_output_of_its_definition(events):
    """Its inputs are what it is defined by."""
    made = ended(events, 4)
    assert names(made["inputs"]) == ["spark://local spark_catalog.p.report"]
    assert names(made["outputs"]) == ["spark://local spark_catalog.p.latest"]
    assert bare(made["outputs"][0]["facets"]["datasetType"]) == {"datasetType": "VIEW"}
    assert made["outputs"][0]["facets"]["columnLineage"]["fields"].keys() == {"name"}


def test_errors(events):
    """A denied statement has failed, too; a message does not say its code twice."""
    denied, failed = ended(events, 5), ended(events, 6)
    assert bare(denied["run"]["facets"]["errorMessage"]) == {
        "message": "[AUDIT_STATEMENT_DENIED] ann may not read p.people",
        "programmingLanguage": "JAVA",
    }
    assert bare(failed["run"]["facets"]["errorMessage"])["message"] == "[DIVIDE_BY_ZERO] Division by zero"
    assert not any("errorMessage" in one["run"]["facets"] for one in events if one["eventType"] == "START")


def test_parents(events):
    """A statement of a procedure names its run and its job."""
    child, parent = ended(events, 8), ended(events, 7)
    named = {
        "run": {"runId": query_id(7)},
        "job": {"namespace": "spark://local", "name": parent["job"]["name"]},
    }
    assert bare(child["run"]["facets"]["parent"]) == {**named, "root": named}


def test_jobs(events):
    """A text is SQL, a call is source code; what differs in literals alone would be one job."""
    load, called, streamed = ended(events, 1), ended(events, 7), ended(events, 11)
    assert load["job"]["name"] == "etl.py.insert.000000000000"
    assert bare(load["job"]["facets"]["sql"])["dialect"] == "spark"
    assert bare(called["job"]["facets"]["sourceCode"]) == {
        "language": "python",
        "sourceCode": "etl.nightly()",
    }
    assert bare(streamed["job"]["facets"]["jobType"]) == {
        "processingType": "STREAMING", "integration": "SPARK", "jobType": "COMMAND",
    }  # fmt: skip


def test_tables_stand_in_the_namespaces_of_the_configuration(exchanged, command, monkeypatch):
    """The first namespace of a catalog; hive's and spark's name no catalog, others do."""
    told = "hive://metastore:9083=spark_catalog, spark://thrift:10001=spark_catalog, trino://t:8080=lake"
    monkeypatch.setenv("AUDIT_OPENLINEAGE_NAMESPACES", told)
    said = command("export", "openlineage", *DAYS, "--root", exchanged).stdout
    event = ended([json.loads(line) for line in said.splitlines()], 3)
    assert names(event["inputs"]) == ["hive://metastore:9083 p.people", "trino://t:8080 lake.sales.orders"]
    (masked,) = event["outputs"][0]["facets"]["columnLineage"]["dataset"]
    assert (masked["namespace"], masked["name"]) == ("hive://metastore:9083", "p.people")


def test_days(exchanged, command, tmp_path):
    """A period without statements has no event; the file is there all the same."""
    path = tmp_path / "none.ndjson"
    said = command("export", "openlineage", "--to", "2026-11-19", "-o", path, "--json", "--root", exchanged)
    assert json.loads(said.stdout)[0]["lines"] == 0
    assert path.read_bytes() == b""


def test_what_cannot_be_written_is_told(exchanged, command, tmp_path):
    """And what was there before stays."""
    done = command("export", "openlineage", "-o", tmp_path / "no" / "x", "--root", exchanged, code=2)
    assert "AUDIT_EXPORT" in done.stderr
    assert command("export", "openlineage", "--json", "--root", exchanged, code=2)


def test_the_export_is_on_record(exchanged, command, tmp_path):
    """As a reading of the tables."""
    command("export", "openlineage", "-o", tmp_path / "x", "--root", exchanged)
    asked = "SELECT details FROM account_usage.logging_history WHERE event_type = 'AUDIT_EXPORT'"
    found = json.loads(command("query", asked, "--json", "--root", exchanged).stdout)
    assert json.loads(found[-1]["details"])["format"] == "openlineage"


def test_what_lies_outside_of_the_catalog(tmp_path, command):
    """A table of files, one behind JDBC, a topic: under the name and type that other tools have for it."""
    root = Root()
    domains = {"spark_catalog.p.files": "EXTERNAL TABLE", "postgres://h:5432/shop.public.t": "STAGE"}
    read = [{**thing(name, "a"), "objectDomain": domain} for name, domain in domains.items()]
    topic = {**thing("kafka://h:9092/orders", "value"), "objectDomain": "STAGE"}
    root.ran("INSERT", "…", _direct_objects_accessed=read, _objects_modified=[topic])
    made = make_root(tmp_path, root.rows)
    said = command("export", "openlineage", "--root", made).stdout
    event = ended([json.loads(line) for line in said.splitlines()], 0)
    found = {
        f"{one['namespace']} {one['name']}": one["facets"]["datasetType"]["datasetType"]
        for one in (*event["inputs"], *event["outputs"])
    }
    assert found == {
        "spark://local spark_catalog.p.files": "TABLE",
        "postgres://h:5432 shop.public.t": "TABLE",
        "kafka://h:9092 orders": "TOPIC",
    }
