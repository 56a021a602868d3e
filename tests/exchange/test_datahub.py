"""`audit export datahub`: the aspects of each dataset, and DataHub's own checker over the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .roots import LATEST, PEOPLE, REPORT

DATAHUB = "acryl-datahub==1.7.0.17"
READ_BACK = """
import sys
from datahub.ingestion.source.file import read_metadata_file
from pathlib import Path
for one in read_metadata_file(Path(sys.argv[1])):
    print(type(one).__name__, one.entityUrn, one.aspectName)
"""


@pytest.fixture(scope="module")
def file(exchanged, command, tmp_path_factory):
    """The file of the root."""
    path = tmp_path_factory.mktemp("datahub") / "audit.json"
    command("export", "datahub", "-o", path, "--root", exchanged)
    return path


@pytest.fixture(scope="module")
def aspects(file):
    """The body of an aspect by URN and name."""
    return {
        (one["entityUrn"], one["aspectName"]): one["aspect"]["json"]
        for one in json.loads(file.read_text("utf-8"))
    }


def urn(name):
    """The URN of an object of the default catalog."""
    return f"urn:li:dataset:(urn:li:dataPlatform:spark,{name},PROD)"


def test_lineage(aspects):
    """What is in force: from the last overwrite on; columns that gave a value."""
    found = aspects[urn(REPORT), "upstreamLineage"]
    lake = urn("lake.sales.orders")
    assert [(one["dataset"], one["type"]) for one in found["upstreams"]] == [
        (lake, "TRANSFORMED"),
        (urn(PEOPLE), "TRANSFORMED"),
    ]
    columns = {
        one["downstreams"][0]: (one["upstreams"], one["transformOperation"])
        for one in found["fineGrainedLineages"]
    }
    assert columns[f"urn:li:schemaField:({urn(REPORT)},total)"] == (
        [f"urn:li:schemaField:({lake},total)"],
        "AGGREGATION",
    )
    assert columns.keys() == {
        f"urn:li:schemaField:({urn(REPORT)},{name})" for name in ("name", "ssn", "total")
    }
    assert aspects[urn(LATEST), "upstreamLineage"]["upstreams"][0]["type"] == "VIEW"


def test_schema_owner_and_tags(aspects):
    """Of a table that was measured; the tag with its value stands on the column."""
    name, ssn = aspects[urn(PEOPLE), "schemaMetadata"]["fields"]
    assert (name["fieldPath"], name["nativeDataType"], name["type"]) == (
        "name",
        "string",
        {"type": {"com.linkedin.schema.StringType": {}}},
    )
    tag = "urn:li:tag:spark_catalog.p.pii:high"
    assert ssn["globalTags"] == {"tags": [{"tag": tag}]}
    assert aspects[tag, "tagProperties"] == {"name": "spark_catalog.p.pii: high"}
    assert aspects[urn(PEOPLE), "ownership"]["owners"] == [
        {"owner": "urn:li:corpuser:STEWARD", "type": "DATAOWNER"}
    ]


def test_what_was_dropped_is_removed(aspects):
    """The newest statement about it says so."""
    assert aspects[urn(PEOPLE), "status"] == {"removed": True}
    assert aspects[urn(REPORT), "status"] == {"removed": False}


def test_files_are_a_platform_of_their_own(aspects):
    """By the name of their location."""
    assert ("urn:li:dataset:(urn:li:dataPlatform:file,/in/people.csv,PROD)", "status") in aspects


def test_no_statement_is_an_empty_list(exchanged, command):
    """Still a document."""
    said = command("export", "datahub", "--to", "2026-11-19", "--root", exchanged).stdout
    assert json.loads(said) == []


@pytest.mark.long("minutes: it installs DataHub into an environment of its own")
def test_datahub_accepts_the_file(file, aspects, tmp_path):
    """Its checker finds each proposal valid, its file source reads them back, and a damaged one is found."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "datahub"], check=True)
    bin_ = tmp_path / "datahub" / "bin"
    subprocess.run([bin_ / "python", "-m", "pip", "install", "--quiet", DATAHUB], check=True)

    def checked(path: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [bin_ / "datahub", "check", "metadata-file", path], check=False, capture_output=True, text=True
        )

    done = checked(file)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(aspects)} MCEs found - all valid" in done.stdout + done.stderr
    read = [bin_ / "python", "-c", READ_BACK, file]
    back = subprocess.run(read, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len([line for line in back if line.startswith("MetadataChangeProposal")]) == len(aspects)
    damaged = tmp_path / "damaged.json"
    damaged.write_text(file.read_text("utf-8").replace('"fieldPath"', '"fieldpath"'), "utf-8")
    assert checked(damaged).returncode != 0
