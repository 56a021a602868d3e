"""What an undo plan is made of: which versions a statement made, and how the plan reads."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.spark.delta.commits import Commit, versions_with_change
from audit.spark.delta.values import DeltaTableState, Table
from audit.time_travel.clones.clone_table import clone_of
from audit.time_travel.errors import BadClauseError, BadMomentError
from audit.time_travel.show_history import require_read
from audit.time_travel.versions.changes import RecordedChange
from audit.time_travel.versions.restore import clause_of
from audit.time_travel.versions.undo_plan import Step, UndoPlan
from audit.time_travel.versions.undo_planner import AffectedTable
from lineage.sql.parse import typed_of


def affected(*writers, bad=(), clean=()):
    """A table with a commit of each writer, from version 3 on, one a second; None came from elsewhere."""
    commits = [Commit(v, v * 1_000_000, "WRITE", writer) for v, writer in enumerate(writers, 3)]
    table = Table(("spark_catalog", "s", "a.b"), "/t", "delta", managed=False)
    state = DeltaTableState("id", commits[-1].version, 0, 0)
    return AffectedTable(table, state, None, commits, "", bad=set(bad), clean=set(clean))


def change(query_id="q", time=0):
    """A recorded statement."""
    return RecordedChange(query_id, time, "ann", "MERGE", "SUCCESS")


@pytest.mark.parametrize(
    ("writers", "recorded", "versions"),
    [
        (("q", "p", "q"), None, [3, 5]),
        (("q", "p"), 4, [3]),  # the mark in Delta's log counts before the record
        ((None, "p", None), 5, [5]),  # without a mark the record tells the version
        ((None, "p"), 4, []),  # which is another statement's, by its mark
        (("p", None), None, []),
    ],
)
def test_the_versions_of_a_statement(writers, recorded, versions):
    """By its id in Delta's log, else by its record."""
    assert affected(*writers).versions_by(change(), recorded) == versions


@pytest.mark.parametrize(
    ("version", "time", "had"),
    [
        (3, 0, False), (4, 0, True), (5, 0, True), (6, 0, False), (99, 0, False),
        # Without a version on record: what was newest when the statement began.
        (None, 3_999_999, False), (None, 4_000_000, True), (None, 5_500_000, True), (None, 6_000_000, False),
        (None, 0, False),
    ],
)  # fmt: skip
def test_whether_a_reader_got_the_change(version, time, had):
    """Version 4 brought it in, and version 6 overwrote the table."""
    one = affected(*"abcd", bad=[4], clean=[6])
    assert one.had_change_at(change(time=time), version) is had
    assert one.name == "spark_catalog.s.`a.b`"


@given(st.lists(st.one_of(st.sampled_from(["bad", "clean", "other"]), st.integers(0, 17)), max_size=8))
def test_a_version_has_the_change_if_its_rows_have(kinds):
    """Against a table of rows: a commit inserts one or overwrites all, a RESTORE copies a version's."""
    # Versions before 10 are older than the change; a number is a RESTORE of that version.
    rows = {version: frozenset({"old"}) for version in range(10)}
    commits = []
    for version, kind in enumerate(kinds, 10):
        restored = min(kind, version - 1) if isinstance(kind, int) else None
        before = rows[version - 1] if restored is None else rows[restored]
        rows[version] = {"bad": before | {"bad"}, "clean": frozenset({"new"})}.get(kind, before)
        commits.append(Commit(version, 0, "RESTORE" if restored is not None else "WRITE", restored=restored))
    bad, clean = ({v for v, kind in enumerate(kinds, 10) if kind == name} for name in ("bad", "clean"))
    expected = {commit.version: "bad" in rows[commit.version] for commit in commits}
    assert versions_with_change(commits, bad, clean) == expected


@pytest.mark.parametrize(
    ("operation", "is_upkeep"),
    [
        ("OPTIMIZE", True), ("VACUUM START", True), ("VACUUM END", True), ("REORG", True), ("WRITE", False),
        ("MERGE", False), ("RESTORE", False), ("DELETE", False),
    ],
)  # fmt: skip
def test_upkeep_changes_no_row(operation, is_upkeep):
    """A plan does not warn that it is lost."""
    assert Commit(1, 0, operation).is_maintenance is is_upkeep


def test_a_plan_without_steps_says_so():
    """It has its warnings alone."""
    assert str(UndoPlan("q", ())) == "To undo q, no statements:"
    assert str(UndoPlan("q", (), ("nothing is left",))).splitlines()[1:] == ["Mind:", "  - nothing is left"]


def test_a_plan_numbers_its_statements():
    """In the order in which they run, each with its reason."""
    steps = [Step(name, 2, 1, f"RESTORE TABLE {name} TO VERSION AS OF 1", f"why {name}") for name in "ab"]
    assert str(UndoPlan("q", tuple(steps))).splitlines() == [
        "To undo q, 2 statements:",
        "  1. RESTORE TABLE a TO VERSION AS OF 1",
        "     why a",
        "  2. RESTORE TABLE b TO VERSION AS OF 1",
        "     why b",
    ]


def test_a_change_tells_what_ran_it_was_and_when():
    """As the reasons and warnings of a plan show it."""
    assert str(change(time=1_719_418_800_000_000)) == "MERGE q of ann at 2024-06-26 16:20:00 UTC"


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("RESTORE TABLE s.t TO VERSION AS OF 3", (("s", "t"), "VERSION", False, "3")),
        ("RESTORE TABLE t TO BEFORE (STATEMENT => 'q')", (("t",), "STATEMENT", True, "'q'")),
        ("RESTORE TABLE `a.b` TO AT (OFFSET => -60*5)", (("a.b",), "OFFSET", False, "-60*5")),
    ],
)
def test_a_restore_has_a_table_and_a_point(text, clause):
    """In Delta's words or in those of the document."""
    found = clause_of(typed_of(text))
    assert (found.table, found.kind, found.before, found.expression) == clause


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("RESTORE TABLE s.t TO VERSION AS OF 3 now", clause_of),
        ("RESTORE TABLE s.t TO AT (OFFSET -60)", clause_of),
        ("SHOW TABLES HISTORY LIKE 'a' IN SCHEMA s now", require_read),
        ("CREATE TABLE s.t CLONE s.u now", clone_of),
        ("CREATE OR REPLACE TABLE IF NOT EXISTS s.t CLONE s.u", clone_of),
        ("CREATE TABLE s.t CLONE s.u AT (OFFSET => -60)", clone_of),
    ],
)
def test_a_statement_that_goes_on_otherwise_is_refused(text, read):
    """The error has a form that can be written, and nothing has run."""
    with pytest.raises(BadClauseError) as raised:
        read(typed_of(text))
    assert "write " in raised.value.way_out or "=>" in raised.value.way_out


def test_a_clone_of_no_version_is_refused():
    """The error names the clause."""
    with pytest.raises(BadMomentError, match="is no version but"):
        clone_of(typed_of("CREATE TABLE t CLONE u VERSION AS OF 'x'"))


def test_a_transient_clone_has_its_property_and_those_of_the_text():
    """Beside the source's."""
    text = "CREATE TRANSIENT TABLE t CLONE u VERSION AS OF 3 TBLPROPERTIES ('a' = 'b')"
    clone = clone_of(typed_of(text))
    assert (clone.version, clone.properties) == (3, {"timeTravel.transient": "true", "a": "b"})
