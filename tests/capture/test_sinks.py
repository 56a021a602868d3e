"""Streams into sinks that store nothing: what they read is on record in full."""

from __future__ import annotations

import pytest

from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES


@pytest.mark.parametrize("sink", ["memory", "noop", "console"])
def test_a_sink_that_stores_nothing_has_no_target(session, schema, sink):
    """The documented sinks for debugging and for measuring."""
    session.sql("CREATE TABLE source USING delta AS SELECT 1 AS a")
    known = len(records(session))
    stream = session.readStream.table("source").writeStream.format(sink).queryName(f"to_{sink}")
    stream.trigger(availableNow=True).start().awaitTermination()
    found = [record for record in records(session)[known:] if record.query.query_type == "STREAM_BATCH"]
    assert found
    for record in found:
        (row,) = record.access
        assert (row.analysis, row.analysis_reason) == ("full", None)
        assert [one["objectName"] for one in row.base_objects_accessed] == [f"spark_catalog.{schema}.source"]
        assert row.objects_modified == []
