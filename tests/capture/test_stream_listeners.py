"""Listeners of streams: what attaching must not take from them."""

from __future__ import annotations

import time

import pytest
from pyspark.sql.streaming import StreamingQueryListener

import audit
from audit.testing import records
from tests.ledger import balanced
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES


class Heard(StreamingQueryListener):
    """What a listener of the user's own is told."""

    def __init__(self):
        self.tags, self.ended = [], 0

    def onQueryStarted(self, event):  # noqa: N802  Spark's names
        """With the job tags of the thread that starts it."""
        self.tags.append(event.jobTags)

    def onQueryProgress(self, event):  # noqa: N802
        """Not looked at."""

    def onQueryIdle(self, event):  # noqa: N802
        """Not looked at."""

    def onQueryTerminated(self, event):  # noqa: N802
        """The last that is told of a stream."""
        self.ended += 1


@pytest.fixture
def heard(session):
    """A listener of the session's streams."""
    listener = Heard()
    session.streams.addListener(listener)
    yield listener
    session.streams.removeListener(listener)


def test_a_listener_hears_of_every_start(session, schema, heard, tmp_path):
    """By whomever. Plain Spark loses that of a stream inside of a micro-batch, too: its tag is Spark's."""
    session.sql("CREATE TABLE t AS SELECT 1 AS id")

    def copied(name):
        writer = session.readStream.table(f"{schema}.t").writeStream.trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / name)).toTable(
            f"{schema}.{name}"
        ).awaitTermination()

    def inside(_batch, _number):
        copied("inner")

    with balanced(session) as ledger:
        with audit.as_user(session, "bob"):
            copied("of_bob")
        outer = session.readStream.table("t").writeStream.trigger(availableNow=True).foreachBatch(inside)
        outer.option("checkpointLocation", str(tmp_path / "outer")).start().awaitTermination()
        deadline = time.monotonic() + 30
        while heard.ended < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        found = [record.query for record in ledger.new_records()]
    assert heard.tags == [set()] * 2
    assert heard.ended == 3
    told = [(row.query_type, row.user_name) for row in found]
    assert told == [
        ("STREAM", "bob"), ("STREAM_BATCH", "bob"), ("STREAM", "ann"), ("STREAM_BATCH", "ann"),
        ("STREAM", "ann"), ("STREAM_BATCH", "ann"),
    ]  # fmt: skip
    ids = {row.query_id: row for row in found}
    (of_bob, _, outer_start, outer_batch, inner_start, inner_batch) = found
    assert ids[inner_batch.parent_query_id] is inner_start
    assert ids[inner_start.parent_query_id] is outer_batch
    assert ids[outer_batch.parent_query_id] is outer_start
    assert of_bob.parent_query_id is None


def test_the_tags_of_a_user_stay(session, schema):
    """A stream's thread inherits them, as in plain Spark."""
    session.sql("CREATE TABLE t AS SELECT 1 AS id")
    context, seen = session.sparkContext, []
    context.addJobTag("mine")
    try:
        stream = session.readStream.table("t").writeStream.trigger(availableNow=True)
        stream.foreachBatch(
            lambda _batch, _number: seen.append(context.getJobTags())
        ).start().awaitTermination()
    finally:
        context.removeJobTag("mine")
    assert ["mine" in tags for tags in seen] == [True]
    assert not [record for record in records(session) if record.query.execution_status == "FAIL"]
