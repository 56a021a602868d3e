"""A session with a receiver: what it runs arrives there, without a call that waits for it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

import audit

STATEMENTS = (
    "CREATE SCHEMA sent",
    "CREATE TABLE sent.t (a INT) USING delta",
    "INSERT INTO sent.t VALUES (1)",
    "CREATE TABLE sent.u USING delta AS SELECT a + 1 AS b FROM sent.t",
)


@pytest.fixture(scope="module")
def attach_options(tmp_path_factory):
    """A file receives the events."""
    path = tmp_path_factory.mktemp("receiver") / "events.ndjson"
    return {"openlineage_url": str(path), "ingest_interval_seconds": 1}


def test_statements_arrive(session, attach_options):
    """In their order, with their lineage, some seconds after the ingest."""
    for text in STATEMENTS:
        session.sql(text)
    audit.flush(session)
    path = Path(attach_options["openlineage_url"])
    until = time.monotonic() + 40
    while time.monotonic() < until and not (path.is_file() and "sent.u" in path.read_text("utf-8")):
        time.sleep(0.2)
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    ended = [one for one in events if one["eventType"] == "COMPLETE"]
    texts = [one["job"]["facets"]["sql"]["query"] for one in ended]
    assert [text for text in texts if "sent" in text] == list(STATEMENTS)
    (made,) = [one for one in ended if one["job"]["facets"]["sql"]["query"] == STATEMENTS[-1]]
    fields = made["outputs"][0]["facets"]["columnLineage"]["fields"]
    assert fields["b"]["inputFields"][0]["field"] == "a"
    session.sql("DROP SCHEMA sent CASCADE")
