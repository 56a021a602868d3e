"""The files of a spool: their names and order, whole writes, and what a segment's bytes tell."""

from __future__ import annotations

import json
import stat
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.core.errors import SpoolVersionError
from audit.spool import Spool, find_spools
from audit.spool.create import create
from audit.spool.entry import encode
from audit.spool.layout import (
    FORMAT_VERSION,
    Layout,
    move,
    number_of,
    read_meta,
    require_version,
    set_aside,
    spools_under,
    write_file,
)
from audit.spool.segment import parse_segment, survey

ID = "017e9207-6d7c-7000-8000-000000000000"


@given(st.lists(st.integers(0, 10**12 - 1), min_size=2, max_size=5, unique=True))
def test_segments_sort_by_name_as_by_number(tmp_path_factory, numbers):
    """A listing is in the order of writing, up to a million million segments."""
    layout = Layout(tmp_path_factory.mktemp("driver"))
    paths = [layout.sealed_segment(number) for number in numbers]
    assert [number_of(path) for path in sorted(paths)] == sorted(numbers)
    assert number_of(layout.open_segment(numbers[0]).with_suffix(".recovered")) == numbers[0]


@pytest.fixture
def layout(tmp_path):
    """A new spool's folder whose driver is dead."""
    with Spool.open(tmp_path) as spool:
        return Layout(spool.path)


def test_only_segments_are_listed_as_such(layout):
    """A temporary file, one that recovery wrote, a person's note: none of them is a segment."""
    for name in ("000000000002.open", "000000000010.open", "000000000009.recovered", "x.tmp", "notes"):
        (layout.journal / name).write_bytes(b"12345")
    for name in ("000000000001.jsonl", "000000000001.jsonl.tmp", ".hidden"):
        (layout.sealed / name).write_bytes(b"123")
    assert [number_of(path) for path in layout.open_segments()] == [2, 10]
    assert [path.name for path in layout.sealed_segments()] == ["000000000001.jsonl"]
    assert layout.sealed_bytes() == 9


@pytest.mark.parametrize(
    ("data", "meta"),
    [
        (b'{"version": 1, "pid": 5}', {"version": 1, "pid": 5}),
        (b"", None),
        (b"null", None),
        (b"[1]", None),
        (b'"version"', None),
        (b'{"version": 1', None),
        (b"\xff\xfe", None),
        (b"\x00" * 100, None),
    ],
)
def test_meta_is_an_object_or_nothing(layout, data, meta):
    """A file torn by a power cut says nothing, and raises nothing."""
    layout.meta.write_bytes(data)
    assert read_meta(layout) == meta


@pytest.mark.parametrize("version", [0, 3, "1", None, [1]])
def test_another_format_is_named(layout, version):
    """The error names the folder, both formats and the way out."""
    write_file(layout.meta, json.dumps({"version": version}).encode())
    with pytest.raises(SpoolVersionError) as refused:
        require_version(layout)
    assert str(layout.path) in refused.value.problem
    assert f"reads formats up to {FORMAT_VERSION}" in refused.value.problem
    assert "with the package version that wrote it" in refused.value.way_out


@pytest.mark.parametrize("version", [1, FORMAT_VERSION])
def test_older_formats_are_read(layout, version):
    """A driver that ended before an update is ingested after it."""
    write_file(layout.meta, json.dumps({"version": version}).encode())
    assert require_version(layout)["version"] == version


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    """What was there stays where the new content cannot be written, and no temporary file is left."""
    path = tmp_path / "file"
    write_file(path, b"old")
    with pytest.raises(TypeError):
        write_file(path, "text is no bytes")
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"]
    write_file(path, b"")
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b""]
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "gone" / "file", b"x")


@pytest.mark.parametrize("keep", [True, False])
def test_a_damaged_file_is_kept_for_a_person(layout, keep):
    """It goes to quarantine under its own name, byte by byte; the original stays where it is asked to."""
    source = layout.sealed_segment(7)
    source.write_bytes(b"damaged\xff")
    target = set_aside(source, layout.quarantine, keep=keep)
    assert (target.parent, target.name, target.read_bytes()) == (
        layout.quarantine,
        source.name,
        b"damaged\xff",
    )
    assert source.exists() is keep


def test_a_move_replaces_what_an_earlier_one_left(layout):
    """A recovery that was killed and runs again finds the same name there."""
    source, target = layout.open_segment(1), layout.sealed_segment(1)
    target.write_bytes(b"old")
    source.write_bytes(b"new")
    move(source, target)
    assert (source.exists(), target.read_bytes()) == (False, b"new")


def test_entries_are_hidden_from_other_users(layout):
    """They hold the texts of statements: nobody outside of the group may look in."""
    for folder in (layout.path, layout.journal, layout.sealed, layout.quarantine):
        assert stat.S_IMODE(folder.stat().st_mode) & 0o007 == 0


def test_a_driver_id_that_is_taken_makes_no_second_spool(tmp_path):
    """The first driver keeps its folder and its lock; nothing half made is left."""
    layout, _ = create(tmp_path, ID, {"application_id": "first"})
    with pytest.raises(OSError, match=ID):
        create(tmp_path, ID, {"application_id": "second"})
    (info,) = find_spools(tmp_path)
    assert (info.alive, info.meta["application_id"]) == (True, "first")
    assert [*spools_under(tmp_path).iterdir()] == [layout.path]


def test_meta_tells_who_wrote_the_spool(tmp_path):
    """Format, driver, host and process; what the caller adds stands beside it."""
    layout, _ = create(tmp_path, ID, {"application_id": "app", "created": "now"})
    meta = require_version(layout)
    assert (meta["driver_id"], meta["application_id"], meta["created"]) == (ID, "app", "now")
    assert meta.keys() >= {"version", "host", "pid"}


LINES = st.lists(
    st.tuples(st.sampled_from("SEFRG"), st.integers(0, 99)).map(
        lambda pair: encode(pair[0], f"017e9207-6d7c-7000-8000-{pair[1]:012d}", {"n": pair[1]})
    ),
    max_size=12,
)


@given(LINES, st.data())
def test_a_survey_tells_the_same_as_reading_everything(lines, data):
    """Records counted, the smallest id, and whether all is good, of a file that is whole, torn or corrupt."""
    content = b"".join(lines)
    if content and data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    if content and data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(content) - 1))
        content = content[:at] + bytes([content[at] ^ data.draw(st.integers(1, 255))]) + content[at + 1 :]
    read, looked = parse_segment(content), survey(content)
    assert looked.is_whole == (not read.damaged)
    if looked.is_whole:
        ids = [entry.query_id for entry in read.entries if entry.kind == "R"]
        assert (looked.statements, looked.first_id) == (len(ids), min(ids, default=None))


@pytest.mark.parametrize("order", ["0123", "3210", "2031"])
def test_the_smallest_id_of_a_record_is_the_first(order):
    """Statements end in another order than they begin; a start or a gap of an older one is no record."""
    ids = [f"017e9207-6d7c-7000-8000-00000000000{number}" for number in order]
    lines = [encode("S" if query_id.endswith("0") else "R", query_id, {}) for query_id in ids]
    found = survey(b"".join(lines))
    assert (found.statements, found.first_id) == (3, "017e9207-6d7c-7000-8000-000000000001")


@pytest.mark.parametrize("body", [b"R {}", b"R", b"X {}", b'R {"query_id":"open', b"R []", b"not an entry"])
def test_a_survey_takes_no_other_line_for_an_entry(body):
    """A line whose checksum is right and that is no entry is damage to both, and stops neither."""
    good = encode("R", ID, {})
    content = good + b"%08x %s\n" % (zlib.crc32(body), body) + good
    assert len(parse_segment(content).damaged) == 1
    assert survey(content) == type(survey(b""))(2, ID, is_whole=False)
