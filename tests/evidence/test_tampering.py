"""Whoever changes the audit tables by their files is found, with what was changed, and how."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta

import pytest

from audit.core.clock import SystemClock
from audit.core.errors import TableUnreadable
from audit.evidence import keys
from audit.evidence.checkpoint import Checkpoint
from audit.evidence.head import FILE as HEAD
from audit.evidence.merkle import Frontier, leaf_hash
from audit.evidence.signed_note import Signer
from audit.query.digests import check_tables
from audit.query.digests.check_rows import ALTERED, GONE, INSERTED
from audit.query.digests.held import held_by
from audit.query.tables import opened
from audit.query.verification import verify
from audit.record.record_hash import record_hash

from .tampering import (
    by_commit,
    by_delta_rs,
    commit,
    everywhere,
    files_of,
    in_place,
    newest,
    put_back,
    read,
    rows_of,
)

pytestmark = pytest.mark.spark

HOUR = 3_600_000_000


def check(root, *files, key=""):
    """What `audit verify` finds an hour from now, when nothing is on its way any more."""
    held = held_by(root, SystemClock().now() + HOUR, key, files)
    with opened(str(root)) as tables:
        return verify(tables, held=held)


def faults(root, *files, key=""):
    """As pairs, without those that tell of statements without a record."""
    found = check(root, *files, key=key).faults
    return [(one.query_id, one.fault) for one in found]


def altered(table):
    """The fault of a changed row."""
    return f"{table}: {ALTERED}"


def test_an_honest_history_is_whole(root, ids):
    """All rows are signed, with a key that this machine knows."""
    found = check(root)
    assert (found.faults, found.records, found.statements) == ((), 21, 24)
    assert (found.unsigned, found.waiting, found.late, found.is_known) == (0, 0, 0, True)
    assert found.entries > 6


def test_two_processes_find_the_same(root, ids, monkeypatch):
    """They share the days of a long history."""
    everywhere(root, "access_history", lambda row: None if row["query_id"] in ids[1] else row)
    everywhere(root, "query_history", lambda row: {**row, "user_name": "bob"})
    alone = check(root)
    monkeypatch.setattr(check_tables, "_MANY_ROWS", 0)
    assert check(root) == alone
    assert len(alone.faults) > 24


@pytest.mark.parametrize("how", [in_place, by_commit, by_delta_rs])
def test_a_cell_is_changed(root, ids, how):
    """In the file under its own name, by a commit as UPDATE makes it, and by delta-rs."""
    change = lambda row: {**row, "user_name": "bob"} if row["query_id"] == ids[1][2] else row  # noqa: E731
    everywhere(root, "access_history", change, how)
    assert faults(root) == [(ids[1][2], altered("access_history"))]


def test_a_record_is_changed_and_its_hash_worked_out_anew(root, ids):
    """Its own hash says that it is whole."""

    def change(row):
        if row["query_id"] == ids[0][5]:
            row["objects_modified"] = []
            row["record_hash"] = record_hash(row)
        return row

    everywhere(root, "access_history", change)
    assert faults(root) == [(ids[0][5], altered("access_history"))]


@pytest.mark.parametrize("table", ["query_history", "column_lineage", "table_lineage"])
def test_a_row_without_a_hash_is_changed(root, ids, table):
    """Who issued a statement, who reads a column."""
    change = lambda row: {**row, "user_name": "bob"} if row["query_id"] == ids[2][4] else row  # noqa: E731
    everywhere(root, table, change)
    assert faults(root) == [(ids[2][4], altered(table))]


@pytest.mark.parametrize("how", [by_commit, by_delta_rs])
def test_a_statement_is_deleted_everywhere(root, ids, how):
    """No table misses it any more."""
    for table in ("access_history", "query_history", "column_lineage", "table_lineage"):
        everywhere(root, table, lambda row: None if row["query_id"] == ids[1][4] else row, how)
    assert faults(root) == [
        (ids[1][4], f"{table}: {GONE}")
        for table in ("access_history", "column_lineage", "query_history", "table_lineage")
    ]


def test_a_failed_statement_is_deleted(root, history):
    """It has no record that would miss it."""
    failed = next(
        row["query_id"] for _, row in rows_of(root, "query_history") if row["execution_status"] == "FAIL"
    )
    everywhere(root, "query_history", lambda row: None if row["query_id"] == failed else row)
    assert faults(root) == [(failed, f"query_history: {GONE}")]


def test_a_whole_statement_is_inserted(root, ids):
    """With a record, a right hash, and a row of query_history."""
    new = f"{ids[0][0][:-4]}ffff"
    for table in ("access_history", "query_history"):
        name, row = next((name, row) for name, row in rows_of(root, table) if row["query_id"] == ids[0][0])
        made = {**row, "query_id": new}
        if table == "access_history":
            made["record_hash"] = record_hash(made)
        by_commit(root, table, name, lambda rows, made=made: [*rows, made])
    assert faults(root) == [(new, f"{table}: {INSERTED}") for table in ("access_history", "query_history")]


def test_two_rows_are_exchanged(root, ids):
    """Each has the text of the other."""
    texts = {row["query_id"]: row["query_text"] for _, row in rows_of(root, "query_history")}
    one, other = ids[0][0], ids[0][4]
    swapped = {one: texts[other], other: texts[one]}
    everywhere(
        root,
        "query_history",
        lambda row: {**row, "query_text": swapped.get(row["query_id"], row["query_text"])},
    )
    assert faults(root) == [(one, altered("query_history")), (other, altered("query_history"))]


def test_a_row_is_moved_to_another_day(root, ids):
    """Its time and its day are others."""

    def change(row):
        if row["query_id"] == ids[0][0]:
            row["start_time"] += timedelta(days=1)
        return row

    everywhere(root, "query_history", change)
    assert faults(root) == [(ids[0][0], altered("query_history"))]


def test_an_edge_is_deleted(root, ids):
    """Of the eight of a statement."""
    name, row = next((n, r) for n, r in rows_of(root, "column_lineage") if r["query_id"] == ids[1][5])
    by_commit(root, "column_lineage", name, lambda rows: [one for one in rows if one != row])
    assert faults(root) == [(ids[1][5], altered("column_lineage"))]


def test_an_edge_stands_twice(root, ids):
    """It was not signed twice."""
    name, row = next((n, r) for n, r in rows_of(root, "table_lineage") if r["query_id"] == ids[1][5])
    by_commit(root, "table_lineage", name, lambda rows: [*rows, row])
    assert faults(root) == [(ids[1][5], altered("table_lineage"))]


def test_a_statement_is_said_to_run_still(root, ids):
    """Rows of running statements are not signed; this one had been."""
    change = lambda row: {**row, "execution_status": "RUNNING"} if row["query_id"] == ids[0][1] else row  # noqa: E731
    everywhere(root, "query_history", change)
    assert (ids[0][1], altered("query_history")) in faults(root)


def test_a_file_is_removed_by_a_commit(root, ids):
    """All its statements are named."""
    name = files_of(root, "access_history")[1]
    gone = sorted(row["query_id"] for row in read(root, "access_history", name).to_pylist())
    commit(root, "access_history", [{"remove": {"path": name, "dataChange": True}}])
    assert faults(root) == [(one, f"access_history: {GONE}") for one in gone]


def test_a_file_is_deleted(root):
    """It is named, with the commit that added it."""
    name = files_of(root, "query_history")[0]
    (root / "query_history" / name).unlink()
    with pytest.raises(TableUnreadable) as caught:
        check(root)
    file = name.rpartition("/")[2]
    assert f"{file} of query_history is gone, which version" in caught.value.problem
    assert "(WRITE, 20" in caught.value.problem


def test_a_table_is_put_back_to_yesterday(root, ids):
    """What it has lost is named."""
    put_back(root, "access_history", newest(root, "access_history") - 1)
    assert faults(root) == [(one, f"access_history: {GONE}") for one in sorted(ids[2])]


def test_all_tables_are_put_back_to_yesterday(root, ids, tmp_path):
    """Also the log: whoever ingested here, or keeps a checkpoint elsewhere, had a longer one."""
    kept = tmp_path / "kept.txt"
    kept.write_text(entries(root)[-1]["checkpoint"])
    for table in ("access_history", "query_history", "column_lineage", "table_lineage"):
        put_back(root, table, newest(root, table) - 1)
    for table in ("governance_history", "object_history", "digests"):
        put_back(root, table, newest(root, table) - 1)
    whole = len(entries(root))
    said = [(query_id, fault) for query_id, fault in faults(root, kept) if "was cut off" in fault]
    assert [query_id for query_id, _ in said] == ["", ""]
    assert f"it has {whole:,} entries" in said[0][1]
    assert str(kept) in said[0][1]
    assert HEAD in said[1][1]
    (root / HEAD).unlink()
    assert len(faults(root, kept)) == 1
    # Nobody holds anything: then nothing tells.
    assert faults(root) == []


def test_the_last_entry_is_cut_off(root, ids):
    """Its rows are signed by nobody then, and a longer log was known."""
    put_back(root, "digests", newest(root, "digests") - 1)
    found = faults(root)
    assert "the log of digests was cut off" in found[0][1]
    assert (ids[2][0], f"access_history: {INSERTED}") in found


def entries(root):
    """The rows of the log."""
    return sorted((row for _, row in rows_of(root, "digests")), key=lambda row: row["sequence"])


def change_entries(root, change):
    """Change rows of the log; None deletes one."""
    everywhere(root, "digests", change)


def test_an_entry_in_the_middle_is_deleted(root):
    """The first that is missing is named."""
    change_entries(root, lambda row: None if row["sequence"] == 3 else row)
    assert ("", "entry 3 of the log of digests is gone") in faults(root)


def test_an_entry_is_changed(root):
    """It says that a batch had one statement less."""

    def change(row):
        if row["sequence"] == rows_entry(root)["sequence"]:
            row["body"] = row["body"].replace('"rows":8', '"rows":7')
        return row

    change_entries(root, change)
    number = rows_entry(root)["sequence"]
    assert ("", f"entry {number} of the log of digests was altered: it is not what was signed") in faults(
        root
    )


def rows_entry(root):
    """The first entry of rows."""
    return next(row for row in entries(root) if row["kind"] == "ROWS")


def resigned(root, change, signer):
    """All entries of a log, changed, with roots and signatures of somebody else."""
    tree, made = Frontier(), {}
    for row in entries(root):
        row["body"] = change(row["body"])
        tree = tree.with_leaf(leaf_hash(row["body"].encode()))
        row["checkpoint"] = Checkpoint(signer.name, tree.size, tree.root).signed(signer)
        made[row["sequence"]] = row
    change_entries(root, lambda row: made[row["sequence"]])


def test_the_whole_log_is_signed_anew(root, tmp_path):
    """By somebody else's key, which the first entry names."""
    known = str(keys.signer_of(root).verifier)
    other = Signer.generate(keys.signer_of(root).name)
    resigned(root, lambda body: body.replace(known, str(other.verifier)), other)
    found = faults(root)
    assert found[0][1].startswith("entry 0 of the log of digests has no valid signature: the note is not")
    # Another machine, which knows no key and holds nothing.
    for name in (keys.FILE, HEAD):
        (root / name).unlink()
    assert (faults(root), check(root).is_known) == ([], False)
    assert faults(root, key=known)[0] == found[0]


def test_an_entry_is_signed_by_somebody_else(root):
    """It is the newest one."""
    other = Signer.generate(keys.signer_of(root).name)
    last = entries(root)[-1]
    tree = Frontier()
    for row in entries(root):
        tree = tree.with_leaf(leaf_hash(row["body"].encode()))
    note = Checkpoint(other.name, tree.size, tree.root).signed(other)
    change_entries(
        root, lambda row: {**row, "checkpoint": note} if row["sequence"] == last["sequence"] else row
    )
    assert any("has no valid signature" in fault for _, fault in faults(root))


def test_leaves_are_changed_with_their_row(root, ids):
    """The entry binds their root."""
    change = lambda row: {**row, "user_name": "bob"} if row["query_id"] == ids[0][0] else row  # noqa: E731
    everywhere(root, "query_history", change)
    first = rows_entry(root)["sequence"]

    def forge(row):
        if row["sequence"] == first:
            for one in row["leaves"]:
                one["hashes"] = one["hashes"][:-1] + b"\0"
        return row

    change_entries(root, forge)
    assert ("", f"query_history: the leaves of entry {first} of the log of digests were altered") in faults(
        root
    )


def test_leaves_are_deleted(root):
    """Their entry is named."""
    first = rows_entry(root)["sequence"]
    change_entries(root, lambda row: {**row, "leaves": None} if row["sequence"] == first else row)
    assert ("", f"access_history: the leaves of entry {first} of the log of digests are gone") in faults(root)


def test_the_log_is_deleted(root):
    """Whoever has ingested here knows that there was one."""
    size = len(entries(root))
    shutil.rmtree(root / "digests")
    assert faults(root)[0][1].startswith(f"the log of digests was cut off: it has 0 entries, and had {size}")


def test_a_retention_is_forged(root, ids):
    """An entry that nobody has signed says that a day was deleted."""
    last = entries(root)[-1]
    day = "2026-01-01"
    body = json.dumps({"deleted": [{"table": "access_history", "day": day}], "kind": "RETENTION"})
    made = {**last, "sequence": last["sequence"] + 1, "kind": "RETENTION", "body": body, "leaves": None}
    by_commit(root, "digests", files_of(root, "digests")[-1], lambda rows: [*rows, made])
    everywhere(root, "access_history", lambda row: None if row["query_id"] in ids[0] else row)
    assert any("has the signature of another one" in fault for _, fault in faults(root))


@pytest.mark.parametrize(("table", "key"), [("governance_history", "event-3"), ("object_history", "drop-3")])
def test_an_event_is_changed_or_deleted(root, table, key):
    """Who was granted a role, what was dropped."""
    everywhere(root, table, lambda row: {**row, "user_name": "bob"} if row["event_id"] == key else row)
    assert faults(root) == [(key, altered(table))]
    everywhere(root, table, lambda row: None if row["event_id"] == key else row)
    assert faults(root) == [(key, f"{table}: {GONE}")]


@pytest.mark.parametrize(
    ("table", "key", "column"),
    [("imported_events", "event_id", "producer"), ("imported_lineage", "edge_id", "source_object_name")],
)
def test_what_was_imported_is_changed_or_deleted(root, table, key, column):
    """What another system told, and the lineage that was made of it."""
    ids = sorted(row[key] for _, row in rows_of(root, table))
    everywhere(root, table, lambda row: {**row, column: "other"} if row[key] == ids[0] else row)
    assert faults(root) == [(ids[0], altered(table))]
    everywhere(root, table, lambda row: None if row[key] == ids[0] else row)
    assert faults(root) == [(ids[0], f"{table}: {GONE}")]
    name, row = next(iter(rows_of(root, table)))
    by_commit(root, table, name, lambda rows: [*rows, {**row, key: "new"}])
    assert faults(root) == [(ids[0], f"{table}: {GONE}"), ("new", f"{table}: {INSERTED}")]


def test_an_event_is_inserted(root):
    """Its time is one that had been signed."""
    name, row = next(iter(rows_of(root, "governance_history")))
    by_commit(root, "governance_history", name, lambda rows: [*rows, {**row, "event_id": "new"}])
    assert faults(root) == [("new", f"governance_history: {INSERTED}")]
