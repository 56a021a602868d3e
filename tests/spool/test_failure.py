"""Disks that refuse: real errors from the kernel, no mocks."""

import contextlib
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from audit.core.errors import RecordLossWarning, SpoolUnavailableError
from audit.spool import Spool, read_segment, recover
from audit.spool.segment import SegmentFile

from .helpers import abandon, complete, records, run_module, sealed_entries


def _descriptor(spool):
    return spool._journal._segment._fd


class Swapped:
    """Puts another file behind the descriptor of the open segment: /dev/full refuses writes with ENOSPC,
    /dev/null takes them and refuses fdatasync with EINVAL.
    """

    def __init__(self, spool, device):
        self.target = _descriptor(spool)
        self.saved = os.dup(self.target)
        replacement = os.open(device, os.O_WRONLY)
        os.dup2(replacement, self.target, inheritable=False)
        os.close(replacement)

    def restore(self):
        """Put the segment back."""
        os.dup2(self.saved, self.target, inheritable=False)
        os.close(self.saved)


def _take_away(directory):
    """Makes a directory unusable for root too: a file stands in its place."""
    directory.rename(directory.with_name("away"))
    directory.write_text("")


def _give_back(directory):
    directory.unlink()
    directory.with_name("away").rename(directory)


def test_a_full_disk_blocks_and_then_goes_on(tmp_path):
    """ENOSPC raises the clear error; nothing half-written stays; when there is room the same file goes on."""
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        disk = Swapped(spool, "/dev/full")
        with pytest.raises(SpoolUnavailableError, match="No space left") as full:
            spool.start("q2", {})
        assert str(spool.path) in str(full.value)
        assert "free space" in str(full.value)
        disk.restore()
        spool.record("q1", {})
        spool.start("q3", {})
        (segment,) = (spool.path / "journal").iterdir()
        content = read_segment(segment)
        assert [entry.query_id for entry in content.entries] == ["q1", "q1", "q3"]
        assert not content.damaged


def test_a_full_disk_under_warn_is_counted(tmp_path):
    """Under "warn" the statement runs on, warned of once; a gap says later how many were lost."""
    with Spool.open(tmp_path, on_record_failure="warn") as spool:
        disk = Swapped(spool, "/dev/full")
        with pytest.warns(RecordLossWarning, match="ENOSPC") as warned:  # noqa: PT031 - one warning for all
            for number in range(5):
                assert not spool.start(f"q{number}", {})
                assert not spool.record(f"q{number}", {})
        assert len(warned) == 1
        disk.restore()
        assert spool.start("q9", {})
        spool.rotate()
        (gap,) = sealed_entries(spool.path, "G")
        assert (gap.payload["queries"], gap.payload["records"]) == (5, 5)


def test_a_failed_fsync_moves_on_to_a_new_segment(tmp_path):
    """After a failed fsync the file is not trusted: what was synced and what is in memory go into a
    new one, and
    the caller notices nothing.
    """
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        Swapped(spool, "/dev/null")
        spool.record("q2", {})
        assert spool.start("q3", {})
        (segment,) = (spool.path / "journal").iterdir()
        assert segment.name == "000000000002.open"
        assert [entry.query_id for entry in read_segment(segment).entries] == ["q1", "q2", "q3"]
        assert [one.query_id for one in spool.running()] == ["q1", "q3"]
    report = recover(spool.path, complete)
    assert report.incomplete == ("q1", "q3")
    assert records(spool.path) == {"q1": 1, "q2": 1, "q3": 1}


def test_a_line_written_beside_a_sync_is_not_of_that_sync(tmp_path, monkeypatch):
    """The next fsync fails: the line goes into the new segment once, not once more with what was synced."""
    with Spool.open(tmp_path) as spool:
        real, threads = SegmentFile.length, []

        def length(segment):
            if not threads:
                threads.append(threading.Thread(target=spool.record, args=("q2", {})))
                threads[0].start()
                threads[0].join(0.3)  # where it may write now, it has
            return real(segment)

        monkeypatch.setattr(SegmentFile, "length", length)
        spool.start("q1", {})
        threads[0].join()
        Swapped(spool, "/dev/null")
        spool.start("q3", {})
        (segment,) = (spool.path / "journal").iterdir()
        assert sorted(entry.query_id for entry in read_segment(segment).entries) == ["q1", "q2", "q3"]


def test_two_failed_fsyncs_in_a_row_lose_nothing(tmp_path):
    """What a new segment began with counts as synced when that one fails too."""
    with Spool.open(tmp_path) as spool:
        for query_id in ("q1", "q2", "q3"):
            spool.start(query_id, {})
            Swapped(spool, "/dev/null")
        spool.start("q4", {})
        assert [one.query_id for one in spool.running()] == ["q1", "q2", "q3", "q4"]
        (segment,) = (spool.path / "journal").iterdir()
        assert [entry.query_id for entry in read_segment(segment).entries] == ["q1", "q2", "q3", "q4"]


def test_writers_that_wait_together_are_told_each_for_itself(tmp_path):
    """A disk that breaks under four writers and heals: what returned is there, what raised is not."""
    accepted, refused = set(), set()

    def write(index):
        for number in range(60):
            query_id = f"{index}-{number}"
            try:
                spool.start(query_id, {})
                accepted.add(query_id)
            except SpoolUnavailableError:
                refused.add(query_id)

    with Spool.open(tmp_path) as spool:
        threads = [threading.Thread(target=write, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        journal = spool.path / "journal"
        _take_away(journal)
        Swapped(spool, "/dev/null")
        time.sleep(0.005)
        _give_back(journal)
        for thread in threads:
            thread.join()
        # The writers may all have been refused before the disk healed; what is taken back from the
        # swapped descriptor stays in the file, and goes with it at the next line.
        spool.start("last", {})
        accepted.add("last")
        (segment,) = journal.iterdir()
        found = [entry.query_id for entry in read_segment(segment).entries]
        assert len(found) == len(set(found))
        assert set(found) == accepted == {one.query_id for one in spool.running()}
        assert len(accepted | refused) == 241


def test_refused_lines_are_taken_back_from_the_file(tmp_path):
    """What was not synced goes from the file, but for the lines that were accepted."""
    segment = SegmentFile(tmp_path / "1.open", [b"synced\n"])
    segment.write(b"refused\n")
    segment.take_back([b"accepted\n"])
    assert segment.path.read_bytes() == b"synced\naccepted\n"
    assert segment.size == segment.length() == 16
    segment.close()


def test_a_stray_of_an_interrupted_rotation_makes_no_second_record(tmp_path):
    """A segment that a KeyboardInterrupt left behind in rotate() goes before the next one is sealed."""
    spool = Spool.open(tmp_path)
    spool.start("q1", {})
    (segment,) = (spool.path / "journal").iterdir()
    segment.with_name("000000000099.open").write_bytes(segment.read_bytes())
    spool.record("q1", {})
    spool.rotate()
    abandon(spool)
    recover(spool.path, complete)
    assert records(spool.path) == {"q1": 1}


def test_damage_found_while_mending_goes_to_quarantine(tmp_path):
    """Should the synced part be corrupt as well, the file is set aside, a gap tells of it, and a start that
    was hit is written again from memory.
    """
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {"text": "abc"})
        spool.start("q2", {})
        (old,) = (spool.path / "journal").iterdir()
        old.write_bytes(old.read_bytes().replace(b"abc", b"abd"))
        Swapped(spool, "/dev/null")
        spool.start("q3", {})
        assert [path.name for path in (spool.path / "quarantine").iterdir()] == [old.name]
        spool.rotate()
        (gap,) = sealed_entries(spool.path, "G")
        assert gap.payload["files"] == [old.name]
    assert recover(spool.path, complete).incomplete == ("q1", "q2", "q3")


def test_a_disk_that_stays_broken_refuses_until_it_heals(tmp_path):
    """With fsync failing and no new segment possible each statement is refused; what was not durable waits in
    memory; when the disk is back nothing refused shows and nothing accepted is missing.
    """
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        Swapped(spool, "/dev/null")
        spool.record("q2", {})
        journal = spool.path / "journal"
        _take_away(journal)
        for query_id in ("q3", "q4"):
            with pytest.raises(SpoolUnavailableError):
                spool.start(query_id, {})
        with pytest.raises(SpoolUnavailableError):
            spool.sync()
        with pytest.raises(SpoolUnavailableError):
            spool.rotate()
        assert [one.query_id for one in spool.running()] == ["q1"]
        _give_back(journal)
        spool.start("q5", {})
        spool.sync()
        (segment,) = journal.iterdir()
        assert [entry.query_id for entry in read_segment(segment).entries] == ["q1", "q2", "q5"]


def test_a_start_that_comes_soon_is_awaited_by_confirm_alone(tmp_path, monkeypatch):
    """Its writer goes on while the disk works; `confirm` returns when the disk has it."""
    may_sync, syncing = threading.Event(), threading.Event()
    sync = SegmentFile.sync

    def slow(segment):
        syncing.set()
        assert may_sync.wait(10)
        sync(segment)

    with Spool.open(tmp_path) as spool:
        monkeypatch.setattr(SegmentFile, "sync", slow)
        spool.append("S", "q1", {}, "soon")
        assert syncing.wait(10)
        confirmed = threading.Thread(target=spool.confirm, args=["q1"])
        confirmed.start()
        confirmed.join(0.1)
        assert confirmed.is_alive()
        may_sync.set()
        confirmed.join(10)
        assert not confirmed.is_alive()
        assert spool.stats().syncs == 1
        spool.confirm("q1")  # it is known now: no second fsync
        assert spool.stats().syncs == 1


@pytest.mark.parametrize("policy", ["block", "warn"])
def test_a_start_that_the_disk_refuses_while_its_query_runs_is_told_and_kept(tmp_path, policy):
    """The result is withheld under "block"; the line waits in memory and is written once the disk is back."""
    with Spool.open(tmp_path, on_record_failure=policy) as spool:
        spool.start("q0", {})
        Swapped(spool, "/dev/null")
        journal = spool.path / "journal"
        _take_away(journal)
        spool.append("S", "q1", {}, "soon")
        with pytest.raises(SpoolUnavailableError) if policy == "block" else contextlib.nullcontext():
            spool.confirm("q1")
        _give_back(journal)
        spool.append("E", "q1", {"status": "FAIL"}, "soon")
        spool.sync()
        (segment,) = journal.iterdir()
        assert [(e.kind, e.query_id) for e in read_segment(segment).entries] == [
            ("S", "q0"),
            ("S", "q1"),
            ("E", "q1"),
        ]


def test_a_refused_record_leaves_its_statement_to_recovery(tmp_path):
    """A durable record that the disk refused is made again after a crash: exactly one, from start and end."""
    spool = Spool.open(tmp_path)
    spool.start("q1", {"text": "a"})
    spool.end("q1", {"status": "SUCCESS"})
    Swapped(spool, "/dev/null")
    journal = spool.path / "journal"
    _take_away(journal)
    with pytest.raises(SpoolUnavailableError):
        spool.record("q1", {}, "now")
    assert spool.stats().unfinished == 1
    _give_back(journal)
    abandon(spool)
    assert recover(spool.path, complete).completed == ("q1",)
    assert records(spool.path) == {"q1": 1}


def test_a_seal_that_fails_is_made_up_for(tmp_path):
    """While sealed/ is unusable rotation fails, appends go on, and later everything is sealed once, in
    order.
    """
    with Spool.open(tmp_path) as spool:
        spool.start("q1", {})
        spool.record("q2", {})
        _take_away(spool.path / "sealed")
        for query_id in ("q3", "q4"):
            with pytest.raises(SpoolUnavailableError):
                spool.rotate()
            assert spool.record(query_id, {}, "now")
        assert len(list((spool.path / "journal").iterdir())) == 2
        _give_back(spool.path / "sealed")
        spool.record("q1", {})
        spool.rotate()
        assert records(spool.path) == {"q1": 1, "q2": 1, "q3": 1, "q4": 1}


def test_a_crash_while_a_seal_is_due_gives_one_record_each(tmp_path):
    """Two open segments with the same statement in both yield one record."""
    spool = Spool.open(tmp_path)
    spool.start("q1", {})
    spool.start("q5", {})
    spool.record("q2", {})
    _take_away(spool.path / "sealed")
    with pytest.raises(SpoolUnavailableError):
        spool.rotate()
    spool.record("q1", {})
    spool.sync()
    abandon(spool)
    _give_back(spool.path / "sealed")
    report = recover(spool.path, complete)
    assert (report.kept, report.incomplete) == (2, ("q5",))
    assert records(spool.path) == {"q1": 1, "q2": 1, "q5": 1}


def test_a_write_cut_short_leaves_no_torn_line(tmp_path):
    """A limit on file sizes lets a part of a line in and refuses the rest: the part is taken back."""
    output = run_module("limits", "size", tmp_path)
    assert output.split() == ["AUDIT_SPOOL_UNAVAILABLE", "ulimit", "whole", "again"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_missing_permission_is_named():
    """A user without permission gets the path and what to do, at open and, when it is withdrawn, at
    rotation.
    """
    with tempfile.TemporaryDirectory() as root:  # pytest's own directories let nobody else in
        Path(root).chmod(0o755)
        output = run_module("limits", "permission", root)
    assert output.split() == ["AUDIT_SPOOL_UNAVAILABLE", "permission", "rotation", "recovered"]


def test_a_directory_removed_by_hand_is_named(tmp_path):
    """When someone removes the journal directory, rotation says so."""
    spool = Spool.open(tmp_path)
    spool.record("q1", {})
    for path in (spool.path / "journal").iterdir():
        path.unlink()
    (spool.path / "journal").rmdir()
    with pytest.raises(SpoolUnavailableError, match="attach the audit again"):
        spool.rotate()
    abandon(spool)
