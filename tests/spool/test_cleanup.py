"""Finding spools, locking them, and removing what is done with."""

import os
import shutil
import threading
import time

import pytest

from audit.core.errors import SpoolBusyError, SpoolEntryError, SpoolVersionError
from audit.spool import Spool, find_spools, ingest_lock, recover, remove_ingested, retire
from audit.spool.cleanup import Removed
from audit.spool.liveness import is_held, is_same, take_lock

from .helpers import abandon, complete


def test_spools_are_found_alive_and_dead(tmp_path):
    """Each driver has its own directory; a closed or killed one is dead, in the order of birth."""
    assert find_spools(tmp_path) == ()
    first, second, third = (Spool.open(tmp_path) for _ in range(3))
    first.record("q1", {})
    first.close()
    second.start("q1", {})
    abandon(second)
    found = find_spools(tmp_path)
    assert [info.driver_id for info in found] == [first.driver_id, second.driver_id, third.driver_id]
    assert [info.alive for info in found] == [False, False, True]
    assert [(info.journal, info.sealed) for info in found] == [(0, 1), (1, 0), (1, 0)]
    third.close()


def test_what_is_no_spool_is_not_listed(tmp_path):
    """A mounted disk has a lost+found, a person leaves notes: neither is a driver's."""
    with Spool.open(tmp_path) as spool:
        (tmp_path / "spool" / "lost+found").mkdir()
        (tmp_path / "spool" / "notes.txt").touch()
        assert [info.path for info in find_spools(tmp_path)] == [spool.path]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_spool_that_may_not_be_read_counts_as_alive(tmp_path):
    """Another user's spool on a shared root is left to its owner."""
    Spool.open(tmp_path).close()
    (info,) = find_spools(tmp_path)
    info.path.chmod(0)
    assert [one.alive for one in find_spools(tmp_path)] == [True]
    info.path.chmod(0o750)


def test_whoever_waits_for_a_spool_that_goes_stops_waiting(tmp_path):
    """Another process ingests and removes it: no reason to wait on."""
    spool = Spool.open(tmp_path)
    spool.close()
    lock = take_lock(spool.path / "ingest.lock")
    timer = threading.Timer(0.2, shutil.rmtree, [spool.path])
    timer.start()
    began = time.process_time()
    with pytest.raises(SpoolBusyError), ingest_lock(spool.path, timeout=600):
        pass
    assert time.process_time() - began < 60
    os.close(lock)


def test_a_forked_child_does_not_keep_the_ingest_lock(tmp_path):
    """A child that was forked during an ingest lives on; the next ingest takes the lock all the same."""
    with Spool.open(tmp_path) as spool:
        reader, writer = os.pipe()
        with ingest_lock(spool.path):
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
        with ingest_lock(spool.path):
            pass
        os.close(writer)
        os.waitpid(child, 0)
        os.close(reader)


def test_a_spool_of_another_format_is_listed_and_not_touched(tmp_path):
    """find_spools tells its version; ingest and retire refuse it."""
    spool = Spool.open(tmp_path)
    spool.close()
    (spool.path / "meta.json").write_text('{"version": 9}')
    (info,) = find_spools(tmp_path)
    assert info.version == 9
    with pytest.raises(SpoolVersionError), ingest_lock(spool.path):
        pass
    with pytest.raises(SpoolVersionError):
        retire(spool.path)


def test_probing_does_not_disturb_another_probe_or_a_recovery(tmp_path):
    """Two probers do not see each other; a taken lock is taken for both."""
    path = tmp_path / "lock"
    assert not is_held(path)
    lock = take_lock(path)
    assert is_held(path)
    assert take_lock(path) is None
    os.close(lock)
    assert not is_held(path)


def test_a_lock_on_a_removed_file_is_no_lock(tmp_path):
    """Whoever opened the lock file before it was retired does not hold what stands there now, or nothing."""
    path = tmp_path / "lock"
    lock = take_lock(path)
    assert is_same(lock, path)
    path.unlink()
    assert not is_same(lock, path)
    other = take_lock(path)
    assert not is_same(lock, path)
    os.close(lock)
    os.close(other)
    assert take_lock(tmp_path / "gone" / "lock") is None


def test_one_ingest_at_a_time(tmp_path):
    """A second ingest of one spool raises, or waits as long as it was told; a living driver may be
    ingested.
    """
    with Spool.open(tmp_path) as spool:
        with ingest_lock(spool.path):
            with pytest.raises(SpoolBusyError, match=spool.driver_id), ingest_lock(spool.path):
                pass
            started = threading.Event()
            waited = []

            def wait():
                started.set()
                with ingest_lock(spool.path, timeout=10):
                    waited.append(time.monotonic())

            waiter = threading.Thread(target=wait)
            waiter.start()
            started.wait()
            time.sleep(0.05)
            assert not waited
        waiter.join()
        assert waited


def test_ingested_segments_go_and_damaged_ones_are_kept(tmp_path):
    """Removal is idempotent; a damaged file goes to quarantine."""
    with Spool.open(tmp_path) as spool:
        paths = []
        for number in range(3):
            spool.record(f"q{number}", {})
            paths.append(spool.rotate())
        paths[1].write_bytes(paths[1].read_bytes()[:-4])
        assert remove_ingested(spool.path, paths[:1]) == Removed(1, "q0", ())
        assert remove_ingested(spool.path, paths) == Removed(
            1, "q2", (spool.path / "quarantine" / paths[1].name,)
        )
        assert remove_ingested(spool.path, paths) == Removed(0, None, ())
        assert spool.sealed() == ()


def test_only_sealed_segments_of_this_spool_are_removed(tmp_path):
    """A path from elsewhere, or the open segment, is refused before anything is removed."""
    with Spool.open(tmp_path) as spool, Spool.open(tmp_path) as other:
        for one in (spool, other):
            one.record("q", {})
            one.rotate()
        (opened,) = (spool.path / "journal").iterdir()
        for wrong in (opened, *other.sealed(), spool.path / "meta.json"):
            with pytest.raises(SpoolEntryError):
                remove_ingested(spool.path, [*spool.sealed(), wrong])
        assert len(spool.sealed()) == len(other.sealed()) == 1


def test_a_spool_is_retired_only_when_nothing_is_left(tmp_path):
    """Alive, to be recovered, to be ingested, being ingested: kept. Then it goes, and quarantine is kept."""
    spool = Spool.open(tmp_path)
    spool.start("q1", {})
    assert not retire(spool.path)
    abandon(spool)
    assert not retire(spool.path)
    (spool.path / "quarantine" / "x.open").write_text("evidence")
    report = recover(spool.path, complete)
    assert not retire(spool.path)
    remove_ingested(spool.path, [report.sealed])
    with ingest_lock(spool.path):
        assert not retire(spool.path)
    (tmp_path / "spool" / ".retired-old" / "sealed").mkdir(parents=True)
    assert retire(spool.path)
    assert not retire(spool.path)
    assert list((tmp_path / "spool").iterdir()) == []
    assert (tmp_path / "quarantine" / spool.driver_id / "x.open").read_text() == "evidence"
