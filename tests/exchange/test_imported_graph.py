"""Imported rows in the graph: which object a name meant at a time."""

from __future__ import annotations

import pyarrow as pa

from audit.graph import Question, answer
from audit.graph.history import History
from audit.graph.imported import IMPORTED_FIELDS, with_imported
from audit.graph.snapshot import Snapshot
from tests.graph.story import Story, at, short


def told(*rows):
    """Rows of imported_lineage: day, source, target, overwrites; a name ends in its column."""
    made = []
    for day, source, target, overwrites in rows:
        ends = {}
        for end, name in (("source", source), ("target", target)):
            table, _, column = (name or "").rpartition(".")
            ends[f"{end}_object_name"] = f"spark_catalog.{table}" if name else None
            ends[f"{end}_object_domain"] = "Table" if name else None
            ends[f"{end}_column_name"] = column or None
        head = {"query_id": f"run-{day}", "query_start_time": at(day), "user_name": "dbt/x"}
        kind = {"query_type": "OPENLINEAGE", "source_kind": "direct", "is_indirect": False}
        made.append({**head, **ends, **kind, "transformation": "IDENTITY", "overwrites": False})
        whole = {**made[-1], "source_column_name": None, "target_column_name": None, "overwrites": overwrites}
        made.append(whole)
    schema = {
        name: pa.timestamp("us", "UTC") if name == "query_start_time"
        else pa.bool_() if name in ("is_indirect", "overwrites") else pa.string()
        for name in IMPORTED_FIELDS
    }  # fmt: skip
    return pa.Table.from_pylist(made, schema=pa.schema(schema.items()))


def edges(story, rows, name, direction="upstream"):
    """The answer's edges."""
    snapshot = Snapshot.of(History.read(*with_imported(*story.arrow(), told(*rows))))
    found = answer(snapshot, Question(name, direction)).edges
    return sorted(f"{short(e.source.name)} > {short(e.target.name)}" for e in found)


def test_a_table_that_another_system_makes_anew():
    """Its new id is first seen when Spark reads it; what made it is found all the same."""
    story = Story()
    story.write("mart.a", {"c": ["mart.t.c"]}, day=1)
    story.anew("mart.t")
    story.write("mart.b", {"c": ["mart.t.c"]}, day=5)
    rows = [(3, "raw.x.c", "mart.t.c", True)]
    assert edges(story, rows, "mart.b.c") == ["mart.t.c > mart.b.c", "raw.x.c > mart.t.c"]
    assert edges(story, rows, "mart.a.c") == ["mart.t.c > mart.a.c"]


def test_an_overwrite_by_another_system_ends_what_was_there():
    """As one by Spark does."""
    story = Story()
    story.write("mart.t", {"c": ["raw.old.c"]}, day=1)
    story.write("mart.b", {"c": ["mart.t.c"]}, day=5)
    assert edges(story, [(3, "raw.new.c", "mart.t.c", True)], "mart.b.c") == [
        "mart.t.c > mart.b.c",
        "raw.new.c > mart.t.c",
    ]
    assert "raw.old.c > mart.t.c" in edges(story, [(3, "raw.new.c", "mart.t.c", False)], "mart.b.c")


def test_spark_makes_anew_what_another_system_has_filled():
    """What was written into the table before is in it no longer."""
    story = Story()
    story.write("mart.b", {"c": ["mart.t.c"]}, day=2)
    story.anew("mart.t")
    story.write("mart.t", {"c": ["raw.new.c"]}, day=4, replaces=True)
    story.write("mart.d", {"c": ["mart.t.c"]}, day=5)
    rows = [(1, "raw.x.c", "mart.t.c", False)]
    assert edges(story, rows, "mart.d.c") == ["mart.t.c > mart.d.c", "raw.new.c > mart.t.c"]
    assert edges(story, rows, "mart.b.c") == ["mart.t.c > mart.b.c", "raw.x.c > mart.t.c"]


def test_only_other_systems_know_it():
    """A chain without Spark, between two that name one dataset alike."""
    rows = [(1, "a.x.c", "a.y.c", False), (2, "a.y.c", "a.z.c", False)]
    assert edges(Story(), rows, "a.z.c") == ["a.x.c > a.y.c", "a.y.c > a.z.c"]


def test_names_differ_in_case():
    """As Spark takes them."""
    story = Story()
    story.write("mart.B", {"c": ["Mart.T.c"]}, day=2)
    assert edges(story, [(1, "raw.x.c", "mart.t.c", False)], "mart.b.c") == [
        "Mart.T.c > mart.B.c",
        "raw.x.c > Mart.T.c",
    ]
