"""A file of an answer is whole or not there, and stays what it was: its rights, its link, its device."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from audit.core.errors import QueryFailed
from audit.core.whole_file import whole_file


def names(folder):
    """What lies in it, hidden files too."""
    return sorted(one.name for one in folder.iterdir())


def put(path, content=b"new"):
    """The file with its content."""
    with whole_file(path, QueryFailed) as write:
        write(content)


@pytest.mark.parametrize("before", [None, "old"], ids=["new", "there"])
def test_it_is_replaced_at_the_end(tmp_path, before):
    """Until then nothing lies beside it: whoever is killed at the work leaves nothing."""
    path = tmp_path / "a.csv"
    if before is not None:
        path.write_text(before)
    there = names(tmp_path)
    with whole_file(path, QueryFailed) as write:
        write(b"ne")
        write(b"w")
        assert names(tmp_path) == there
    assert (names(tmp_path), path.read_text()) == (["a.csv"], "new")


def test_a_failure_leaves_what_was_there(tmp_path):
    """Whatever fails in the block, an OSError of something else too, which is not told as this file's."""
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(FileNotFoundError, match="of-another-file"), whole_file(path, QueryFailed) as write:
        write((tmp_path / "of-another-file").read_bytes())
    assert (names(tmp_path), path.read_text()) == (["a.csv"], "old")


def test_rights_and_links_stay(tmp_path):
    """What only its owner may read stays so; a link leads to the new content."""
    path, link = tmp_path / "a.csv", tmp_path / "b.csv"
    path.write_text("old")
    path.chmod(0o600)
    link.symlink_to(path)
    put(link)
    assert (link.is_symlink(), path.read_text(), stat.S_IMODE(path.stat().st_mode)) == (True, "new", 0o600)
    assert names(tmp_path) == ["a.csv", "b.csv"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (".", "is a folder"),
        ("no/a.csv", "No such file or directory"),
        ("file/a.csv", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("x" * 254 + "/a", "No such file or directory"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, said):
    """It is told before the work, by the name that was given."""
    (tmp_path / "file").write_text("")
    worked = False
    with pytest.raises(QueryFailed) as caught, whole_file(tmp_path / name, QueryFailed):
        worked = True
    assert str(tmp_path / name) in caught.value.problem
    assert said in caught.value.problem
    assert not worked
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_without_rights(tmp_path):
    """A file that may only be read is not replaced; a folder without rights takes none."""
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o400)
    with pytest.raises(QueryFailed, match="may not be written"):
        put(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(QueryFailed, match="Permission denied"):
            put(tmp_path / "b.csv")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_text() == "old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has this device")
def test_a_device_stays_one():
    """No file takes its place; that it has no room is told."""
    null, full = Path(os.devnull), Path("/dev/full")
    put(null)
    with pytest.raises(QueryFailed, match=r"/dev/full cannot be written \(No space left on device\)"):
        put(full)
    assert stat.S_ISCHR(full.stat().st_mode)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_a_pipe_takes_the_content(tmp_path):
    """As a shell's `>(…)` is one."""
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    put(pipe)
    reader.join(timeout=30)
    assert read == [b"new"]
    assert names(tmp_path) == ["pipe"]
