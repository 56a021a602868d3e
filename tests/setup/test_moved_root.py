"""A root that was moved or copied: it works where it lies, and leaves the one that it came from alone."""

from __future__ import annotations

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from audit.spark.embedded.moved_root import FILE, Move, adopt, folders_of, moves_of


def no_metastore():
    """Nobody asks for it."""
    raise AssertionError


def test_a_root_notes_where_it_lies(tmp_path):
    """And where it has lain, also for folders in it; back at its first place it has moved once more."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    adopt(first, no_metastore)
    adopt(first, no_metastore)
    assert folders_of(first) == [str(first)]
    assert moves_of(first / "audit") == moves_of(tmp_path) == ()
    first.rename(second)
    adopt(second, no_metastore)
    assert moves_of(second / "audit") == (Move(str(first), str(second)),)
    second.rename(first)
    adopt(first, no_metastore)
    assert moves_of(first) == (Move(str(second), str(first)),)
    assert {path.name for path in first.iterdir()} == {FILE}


class Connection:
    """Stands for a metastore that holds no location."""

    def __getattr__(self, _name):
        return lambda *_: self

    def next(self):
        """No row."""
        return False


def test_logs_name_the_new_folder(tmp_path):
    """Commits, checkpoints with all their columns, and lists of files in checksums; times stay."""
    old, new = tmp_path / "old", tmp_path / "n w"
    log = new / "warehouse/_tables/t-1/_delta_log"
    log.mkdir(parents=True)
    (new / "metastore").mkdir()
    (new / FILE).write_text(json.dumps({"folders": [str(old)]}))
    commit, plain, crc = log / "0.json", log / "1.json", log / "0.crc"
    commit.write_text(f'{{"add":{{"path":"file:{old}/w/a.parquet","stats":"file:{old}x/"}}}}\n')
    plain.write_text('{"add":{"path":"a.parquet"}}\n')
    crc.write_text(f'{{"allFiles":[{{"path":"file://{old}/w/a.parquet"}}]}}')
    (log / ".0.json.crc").write_bytes(b"hadoop's")
    add = pa.struct(
        [
            pa.field("path", pa.string()),
            pa.field("partitionValues", pa.map_(pa.string(), pa.string())),
            pa.field("deletionVector", pa.struct([pa.field("pathOrInlineDv", pa.string())])),
        ]
    )
    rows = [
        {"path": f"file:{old}/w/a", "partitionValues": [("p", "1")], "deletionVector": None},
        None,
        {"path": "b", "partitionValues": [], "deletionVector": {"pathOrInlineDv": f"{old}/dv"}},
    ]
    pq.write_table(
        pa.table({"add": pa.array(rows, add), "n": pa.array([1, 2, 3])}), log / "1.checkpoint.parquet"
    )
    times = {path.name: path.stat().st_mtime_ns for path in log.iterdir()}

    adopt(new, Connection)
    assert json.loads(commit.read_text())["add"] == {
        "path": f"file:{new}/w/a.parquet", "stats": f"file:{old}x/",
    }  # fmt: skip
    assert json.loads(crc.read_text())["allFiles"][0]["path"] == f"file://{new}/w/a.parquet"
    rows[0]["path"], rows[2]["deletionVector"]["pathOrInlineDv"] = f"file:{new}/w/a", f"{new}/dv"
    table = pq.read_table(log / "1.checkpoint.parquet")
    assert table.column("add").to_pylist() == rows
    assert table.schema.field("add").type == add
    assert {path.name: path.stat().st_mtime_ns for path in log.iterdir()} == {
        name: time for name, time in times.items() if name != ".0.json.crc"
    }


@pytest.mark.spark
@pytest.mark.long("starts a driver on three roots, one after the other; what is rewritten has tests above")
def test_i_copied_the_whole_root_to_another_place(tmp_path):
    """It works there: tables, clones, views, what was dropped, the record; the first one is left alone."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.setup.moved", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["changed"] == []
    one, two, seven = [["1"]], [["1"], ["2"]], [["7"]]
    message = [["Table dropped successfully restored."]]
    assert told["seen"] == [one, one, [], [], two, message, seven, [], one, one, one]
    assert told["alone"] == [[["1"], ["3"]], two, [["9"]]]
