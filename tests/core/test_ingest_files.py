"""What ingest reads off the disk without Spark: running statements, published rows, edges, quarantine."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.executor import execute

from audit.core.clock import ManualClock, to_iso, to_micros
from audit.core.ids import IdGenerator
from audit.core.json_text import to_json
from audit.evidence.bound_tables import BOUND_TABLES
from audit.evidence.row_texts import Rows
from audit.ingest import arrow_records
from audit.ingest import batches as batches_module
from audit.ingest.arrow_records import parsed
from audit.ingest.batches import Batch, batches, forget
from audit.ingest.edge_mark import has_edges
from audit.ingest.parts import SHARED
from audit.ingest.rows import rows_of
from audit.ingest.running import Published, running_in
from audit.ingest.salvage import salvage
from audit.record.access_record import Ended, Finding, Started, build_row
from audit.spool import Spool, read_segment
from audit.spool.entry import encode
from audit.spool.layout import Layout
from audit.spool.parts import ANALYSIS, OBJECTS, TEXT, cut
from audit.store.tables import (
    ACCESS_HISTORY,
    AUDIT_TABLES,
    COLUMN_LINEAGE,
    LINEAGE_TABLES,
    QUERY_HISTORY,
    TABLE_LINEAGE,
)
from lineage import MemoryCatalog, analyze

CATALOG = MemoryCatalog({"s.t": {"a": "int", "b": "int"}, "s.u": {"a": "int"}}, current_schema="s")
NOON = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z
DAY = 86_400_000_000
IDS = IdGenerator(ManualClock(NOON, tick=1), bytes)
ONE, TWO, THREE = (IDS.new() for _ in range(3))


def started(query_id, text="SELECT 1", at=NOON):
    """A statement of ann's."""
    return Started(query_id, at, "ann", text, "SELECT", "SparkSession.sql", is_sql=True)


def record_of(text, query_id=ONE):
    """The line of a statement's record."""
    finding = Finding(analyze(text, CATALOG), "text")
    return encode("R", query_id, build_row(started(query_id, text), Ended("SUCCESS", NOON), finding))


@pytest.fixture
def spool(tmp_path):
    """The spool of a driver at work."""
    with Spool.open(tmp_path) as opened:
        yield opened


def test_what_runs_is_read_from_the_journal(spool):
    """A statement with a start and neither an end nor a record, as it was started, in any segment."""
    assert running_in(spool.path) == ()
    ran = started(ONE, "SELECT 'é\n`x`'")
    for one in (ran, started(TWO), started(THREE)):
        spool.start(one.query_id, one.to_dict())
    spool.end(TWO, Ended("SUCCESS", NOON).to_dict())
    assert running_in(spool.path) == (ran, started(THREE))
    spool.record(TWO, {})
    spool.rotate()
    spool.record(THREE, {})
    assert running_in(spool.path) == (ran,)


def test_a_torn_line_hides_no_other_statement(spool):
    """A driver may be writing at this moment."""
    spool.start(ONE, started(ONE).to_dict())
    (segment,) = (spool.path / "journal").iterdir()
    segment.write_bytes(segment.read_bytes() + encode("S", TWO, started(TWO).to_dict())[:-10])
    assert running_in(spool.path) == (started(ONE),)


PUBLISHED = st.builds(
    Published,
    st.dictionaries(st.text(min_size=1), st.dates().map(str), max_size=4),
    st.lists(st.dictionaries(st.text(), st.text() | st.integers(0, 9), max_size=3), max_size=2).map(tuple),
)


@settings(max_examples=20)
@given(PUBLISHED)
def test_what_was_published_is_read_back(tmp_path_factory, published):
    """A killed ingest finds the rows of its last commit, and those that still stand as RUNNING."""
    folder = tmp_path_factory.mktemp("spool")
    assert Published.load(folder) == Published()
    assert published.save(folder) is published
    assert Published.load(folder) == published
    Published().save(folder)
    assert Published.load(folder) == Published()


@settings(max_examples=30)
@given(PUBLISHED, st.data())
def test_rows_that_were_replaced_are_gone(published, data):
    """The others stay, and ids that were never published do no harm."""
    gone = data.draw(st.sets(st.sampled_from(sorted(published.days)))) if published.days else set()
    left = published.without([*gone, "unknown"])
    assert left.days == {one: day for one, day in published.days.items() if one not in gone}
    assert left.rows == published.rows


def selected(where):
    """The query ids of the rows that a condition selects, by sqlglot's own engine."""
    days = {ONE: "2026-01-01", TWO: "2026-01-01", THREE: "2026-01-02"}
    rows = [
        {"query_id": query_id, "query_date": date.fromisoformat(day), "execution_status": status}
        for query_id, day in days.items()
        for status in ("RUNNING", "SUCCESS")
    ]
    sql = f"SELECT query_id, execution_status FROM t WHERE {where}"
    return execute(sql, tables={"t": rows}, dialect="spark").rows


@pytest.mark.parametrize("chosen", [[ONE], [TWO, ONE], [THREE], [ONE, THREE, ONE]])
def test_the_condition_selects_running_rows_of_these_statements_alone(chosen):
    """Rows that have ended stay, and so do those of others on the same day."""
    published = Published({ONE: "2026-01-01", TWO: "2026-01-01", THREE: "2026-01-02"})
    where = published.predicate(chosen)
    assert sorted(selected(where)) == sorted((one, "RUNNING") for one in set(chosen))
    # By day, so that Delta opens no other partition.
    assert {day for day in ("2026-01-01", "2026-01-02") if day in where} == {
        published.days[one] for one in chosen
    }


def test_no_statement_has_no_condition():
    """An empty text is false: a write that replaces nothing is an append."""
    assert Published({ONE: "2026-01-01"}).predicate([]) == ""


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("INSERT INTO u SELECT a FROM t", True),
        ("CREATE VIEW v AS SELECT a FROM t", True),
        ("DROP TABLE t", True),
        ("SELECT a FROM t", False),
        ("ALTER TABLE t ADD COLUMN c INT", False),
        ("""SELECT ',"edges":[{' FROM t""", False),
        ("""SELECT "\\",\\"edges\\":[{" AS `,"edges":[{` FROM t""", False),
    ],
)
def test_edges_are_found_without_parsing(tmp_path, text, made):
    """In a record alone, never in the text or a name of a statement, in which quotes are escaped."""
    file = tmp_path / "000000000001.jsonl"
    file.write_bytes(record_of("SELECT a FROM t", TWO) * 3 + record_of(text))
    assert has_edges(file) is made
    assert any(entry.payload.get("edges") for entry in read_segment(file).entries) is made


def test_an_empty_segment_has_no_edges(tmp_path):
    """A file of no bytes cannot be mapped into memory, and is no error."""
    (tmp_path / "1.jsonl").touch()
    assert has_edges(tmp_path / "1.jsonl") is False


@pytest.mark.parametrize(
    "text",
    [
        "INSERT OVERWRITE u SELECT sum(a) OVER (PARTITION BY b) FROM t WHERE b > 1",
        "CREATE TABLE n AS SELECT a, count(*) AS c FROM t GROUP BY a",
        "TRUNCATE TABLE t",
        "ALTER TABLE t RENAME TO t9",
    ],
)
def test_ingest_parses_every_field_of_a_record(text):
    """A field that the schema of ingest lacks would be dropped in silence."""
    row = build_row(started(ONE, text), Ended("SUCCESS", NOON), Finding(analyze(text, CATALOG), "text"))
    (read,) = without_nulls(parsed(to_json(row)).to_pylist())
    assert row["edges"]
    assert read == without_nulls(orjson.loads(to_json(row)))


def without_nulls(value):
    """What Arrow gives, with the fields that a record has; times as records write them."""
    if isinstance(value, dict):
        return {key: without_nulls(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return list(map(without_nulls, value))
    return to_iso(to_micros(value)) if isinstance(value, datetime) else value


def segment(tmp_path, *lines):
    """A sealed segment."""
    file = tmp_path / "000000000001.jsonl"
    file.write_bytes(b"".join(lines))
    return file


def test_records_of_a_damaged_segment(tmp_path):
    """Each line that is whole, starts and ends left out; the last one needs no line feed."""
    whole = [record_of("SELECT a FROM t", one) for one in (ONE, TWO, THREE)]
    damaged = whole[1].replace(b"SELECT", b"SELECX")
    start = encode("S", ONE, started(ONE).to_dict())
    file = segment(tmp_path, start, whole[0], damaged, b"garbage\n", b"\n", whole[2][:-1])
    found = {table: rows.table for table, rows in rows_of([file]).items()}
    assert found[QUERY_HISTORY]["query_id"].to_pylist() == [ONE, THREE]
    assert found[ACCESS_HISTORY]["query_id"].to_pylist() == [ONE, THREE]
    assert [len(found[table]) for table in LINEAGE_TABLES] == [0, 0]


def test_rows_of_edges(tmp_path):
    """One for each source kind of an edge, with the statement and the target."""
    text = "INSERT INTO u SELECT a FROM t WHERE b > 1"
    rows = rows_of([segment(tmp_path, record_of("SELECT a FROM t", TWO), record_of(text))])
    edges = rows[COLUMN_LINEAGE].table.to_pylist()
    assert {edge["query_id"] for edge in edges} == {ONE}
    names = ("source_column_name", "target_column_name", "source_kind")
    assert {tuple(edge[name] for name in names) for edge in edges} == {
        ("a", "a", "base"), ("a", "a", "direct"), ("b", None, "base"), ("b", None, "direct"),
    }  # fmt: skip
    tables = rows[TABLE_LINEAGE].table
    assert {*tables["target_object_name"].to_pylist()} == {"spark_catalog.s.u"}
    names = [name for name, _, _ in TABLE_LINEAGE.columns]
    assert tables.schema.names == [*names, "list"]


def test_no_segment_has_rows(tmp_path):
    """Nothing at all, an empty file, and starts alone."""
    for files in ([], [segment(tmp_path)], [segment(tmp_path, encode("S", ONE, started(ONE).to_dict()))]):
        assert {table.name: len(rows.table) for table, rows in rows_of(files).items()} == {
            table.name: 0 for table in AUDIT_TABLES
        }


def test_a_large_record_between_small_ones(tmp_path, monkeypatch):
    """Larger than what a thread takes at once."""
    monkeypatch.setattr(arrow_records, "_CHUNK_BYTES", 2_000)
    large = record_of(f"SELECT a FROM t WHERE b = '{'x' * 50_000}'", TWO)
    file = segment(tmp_path, record_of("SELECT 1"), large, record_of("SELECT 2", THREE))
    texts = rows_of([file, file])[QUERY_HISTORY].table["query_text"].to_pylist()
    assert [len(text) for text in texts] == 2 * [8, 50_028, 8]


HOSTILE = [
    "a", "é", "`x`", "{", "}", '"', "\\", "\n", "\x01", ',"query_id":', '{"direct_objects_accessed":',
    ',"record_hash":', '"aggregate":', ',"edges":[{', "}]}", ',"execution_status":', ',"query_text":',
    ',"session_id":',
]  # fmt: skip
STATEMENTS = st.sampled_from(
    ["SELECT a FROM t WHERE b = '{}'", "INSERT INTO u SELECT a FROM t WHERE b > '{}'", "DROP TABLE `{}`",
     "CREATE TABLE `{}` AS SELECT a, b FROM t", "MERGE INTO u USING t ON u.a = t.a WHEN MATCHED THEN DELETE"]
)  # fmt: skip
RECORDS = st.lists(
    st.tuples(
        STATEMENTS,
        st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join),
        st.sampled_from(["SUCCESS", "SUCCESS", "SUCCESS", "FAIL"]),
        st.sampled_from([{}, {"session_id": "s", "role_name": "r", "query_tag": ',"session_id":'}]),
        st.sampled_from(["", "", "", "aggregate", "twice", "gap", "older"]),
    ),
    max_size=8,
)


def made(number, text, hostile, status, more, form):
    """The line of a record of some form."""
    text = text.format(hostile.replace("'", "").replace("`", ""))
    begun = replace(started(IDS.new(), text, NOON + number * DAY // 3), **more)
    finding = Finding(analyze(text, CATALOG), "text") if status == "SUCCESS" else None
    row = build_row(begun, Ended(status, NOON), finding)
    if form == "aggregate" and row["access"]:
        row["aggregate"] = {"key": hostile, "text": text}
    elif form == "twice":
        row["access"] *= 2
    elif form == "older":  # in another order
        row = {**row, "query": dict(reversed(row["query"].items()))}
        row["access"] = [dict(reversed(one.items())) for one in row["access"]]
    return encode("G" if form == "gap" else "R", begun.query_id, row)


@settings(deadline=None, max_examples=60)
@given(RECORDS)
def test_what_repeats_changes_nothing(records):
    """The rows, and the texts that are signed, are those of records that are read whole."""
    with TemporaryDirectory() as folder:
        lines = [made(number, *one) for number, one in enumerate(records)]
        whole = rows_of([segment(Path(folder), *lines, *lines[::2])])
        found = rows_of([segment(Path(folder), *cut([*lines, *lines[::2]]))])
    for table, rows in found.items():
        names = list(table.names)
        assert rows.table.select(names).to_pylist() == whole[table].table.select(names).to_pylist()
        bound = BOUND_TABLES[table.name]
        assert list(bound.parts(rows)) == list(bound.parts(Rows(whole[table].table.select(names))))


def test_a_part_has_each_member_of_a_record():
    """What stands in the JSON between the ends of a run is a column of it: it would be lost."""
    others = {"query_id", "start_time", "is_sql", "objects_tried"}
    texts = {one.name: "x" for one in fields(Started) if one.name not in others}
    finding = Finding(analyze("CREATE TABLE z AS SELECT a FROM t", CATALOG), "text")
    row = build_row(Started(ONE, NOON, **texts), Ended("SUCCESS", NOON), finding)
    for shared, run in zip(SHARED, (TEXT, OBJECTS, ANALYSIS), strict=True):
        assert shared.name == run.name
        members = [*(row["query"] if shared.table is QUERY_HISTORY else row["access"][0])]
        first, last = (one.decode().strip(',{":') for one in (run.start, run.end))
        between = {*members[members.index(first) : members.index(last)]}
        assert between <= {*shared.columns}
        assert len(between) >= len(shared.columns) - 2


@pytest.mark.parametrize("name", ["start_time", "objects_tried", "rows_produced"])
def test_a_record_of_another_form_stops_the_ingest(tmp_path, name):
    """It does not become a null."""
    row = build_row(
        started(ONE), Ended("SUCCESS", NOON), Finding(analyze("SELECT a FROM t", CATALOG), "text")
    )
    row["query"][name] = {"of": "another version"}
    with pytest.raises(pa.ArrowInvalid):
        rows_of([segment(tmp_path, encode("R", ONE, row))])


def test_a_batch_is_noted_until_its_segments_are_gone(spool):
    """Killed before the commit, it is taken in again as it was; after it, what is left is only removed."""
    for query_id in (ONE, TWO):
        spool.record(query_id, {"query": {}, "access": []})
        spool.rotate()
    layout = Layout(spool.path)
    first, second = layout.sealed_segments()
    assert list(batches(layout)) == [Batch((first, second))]
    Batch((first,)).note(layout, is_committed=False)
    assert list(batches(layout)) == [Batch((first,), is_begun=True), Batch((second,))]
    Batch((first,)).note(layout, is_committed=True)
    assert list(batches(layout)) == [Batch((first,), is_begun=True, is_committed=True), Batch((second,))]
    first.unlink()
    assert list(batches(layout)) == [Batch((), is_begun=True, is_committed=True), Batch((second,))]
    forget(layout)
    forget(layout)
    assert list(batches(layout)) == [Batch((second,))]


def test_large_segments_are_batches_of_their_own(spool, monkeypatch):
    """Their rows are in memory at once."""
    monkeypatch.setattr(batches_module, "_BYTES", 1)
    for query_id in (ONE, TWO):
        spool.record(query_id, {"query": {}, "access": []})
        spool.rotate()
    layout = Layout(spool.path)
    assert [one.files for one in batches(layout)] == [(file,) for file in layout.sealed_segments()]


def complete(start, end, facts):
    """No statement of these tests needs its record made again."""
    raise AssertionError


@pytest.mark.parametrize("data", [b"", b"garbage\nmore garbage", encode("G", THREE, {"gap": "damaged"})])
def test_a_file_in_quarantine_without_a_statement_is_done_with(tmp_path, data):
    """No table is read for it; it stays under another name for a person, and is not looked at again."""
    folder = tmp_path / "quarantine" / "a driver"
    folder.mkdir(parents=True)
    file = folder / "000000000001.jsonl"
    file.write_bytes(data)
    (folder / "000000000002.open").write_bytes(data)
    assert salvage(None, tmp_path, str(tmp_path), complete) == {file: 0}
    assert salvage(None, tmp_path, str(tmp_path), complete) == {}
    assert {path.name for path in folder.iterdir()} == {"000000000001.jsonl.salvaged", "000000000002.open"}
    assert (folder / "000000000001.jsonl.salvaged").read_bytes() == data


def test_a_root_without_a_quarantine_has_nothing_to_salvage(tmp_path):
    """Nothing was ever damaged there."""
    assert salvage(None, tmp_path, str(tmp_path), complete) == {}
