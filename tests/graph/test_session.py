"""`audit.lineage` from a session: which root, what is flushed, what the catalog adds, what Spark reads."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import audit
from audit import attached_sessions
from audit.graph import Question, answer
from audit.graph.errors import LineageNameUnknown
from audit.record.logging_event import LOGGING_EVENTS
from audit.store import lineage_tables
from audit.store.lineage_tables import snapshot_of

from .story import Story

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def story():
    """A chain of three."""
    told = Story()
    told.write("s.b", {"x": ["s.a.x"]})
    told.write("s.c", {"y": ["s.b.x"]}, indirect=["s.b.f"])
    return told


def test_an_audited_session_asks_its_own_root(audited, story):
    """No root is named, options reach the walk, and the question itself leaves no record."""
    root = Path(attached_sessions.find(audited).services.config.root)
    audit.flush(audited)  # from here on nobody makes the tables that go away
    for name in ("column_lineage", "table_lineage"):  # delta-rs overwrites no generated column
        shutil.rmtree(root / name)
    story.save(root)
    assert len(audit.lineage(audited, "s.c.y").edges) == 2
    assert len(audit.lineage(audited, "s.c", "upstream", 1, include_indirect=True).edges) == 2
    assert len(audit.lineage(audited, "s.a.x", direction="both", as_of="2026-01-02T13:00").edges) == 1
    with audit.suppress():
        said = audited.read.format("delta").load(f"{root}/query_history").collect()
    statements = [row.query_text for row in said if row.query_type not in LOGGING_EVENTS]
    assert [text for text in statements if "lineage" in text] == []


def test_another_root_needs_no_attach(spark, story, tmp_path):
    """A plain session, and the root by name."""
    graph = audit.lineage(spark, "s.c.y", root=str(story.save(tmp_path)))
    assert [e.source.column_name for e in graph.edges] == ["x", "x"]
    assert audit.diff(graph, graph) == audit.diff(graph.by_table(), graph.by_table())


def test_a_table_that_nothing_has_moved_is_one_node(spark, story, tmp_path):
    """The catalog knows the column; a column that it does not know is an error."""
    story.save(tmp_path)
    spark.sql("CREATE TABLE still (id INT, `wei``rd.col` STRING) USING delta")
    for name in ("default.still.id", "still", "default.still.`wei``rd.col`"):
        graph = audit.lineage(spark, name, root=str(tmp_path))
        assert (len(graph.nodes), graph.edges) == (1, ())
    with pytest.raises(LineageNameUnknown):
        audit.lineage(spark, "default.still.ids", root=str(tmp_path))
    with pytest.raises(LineageNameUnknown):
        audit.lineage(spark, "default.still.id", as_of="2026-01-02", root=str(tmp_path))


def test_spark_reads_what_delta_rs_cannot(spark, story, tmp_path):
    """A root whose name delta-rs mistakes for an escape: the same answer by way of Spark."""
    plain, odd = tmp_path / "plain", tmp_path / "odd%20name"
    story.save(plain)
    plain.rename(odd)
    by_spark = snapshot_of(str(odd), None, lambda: spark)
    assert answer(by_spark, Question("s.c")).edges == story.ask("s.c").edges
    with pytest.raises(lineage_tables.LineageTablesUnreadable, match="without Spark"):
        snapshot_of(str(odd))
