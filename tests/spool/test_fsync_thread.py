"""A thread that syncs on request: each request is followed by a sync, and many get one together."""

from __future__ import annotations

import threading

import pytest

from audit.spool.fsync_thread import FsyncThread


class Disk:
    """A sync that waits until it may end, as a slow disk does."""

    def __init__(self):
        self.begun, self.may_end, self.syncs = threading.Semaphore(0), threading.Semaphore(0), 0

    def sync(self):
        """Wait for the test."""
        self.begun.release()
        assert self.may_end.acquire(timeout=10)
        self.syncs += 1


def test_nothing_asked_for_nothing_done():
    """No thread is started for a spool that never asks; closing it is safe, twice too."""
    before = threading.active_count()
    thread = FsyncThread(lambda: pytest.fail("nobody asked"))
    assert threading.active_count() == before
    thread.close()
    thread.close()


def test_requests_during_a_sync_get_one_more():
    """What was written while a sync ran may not be on disk: one sync more serves all who asked meanwhile."""
    disk = Disk()
    thread = FsyncThread(disk.sync)
    thread.request()
    assert disk.begun.acquire(timeout=10)
    for _ in range(100):
        thread.request()
    disk.may_end.release()
    assert disk.begun.acquire(timeout=10)
    disk.may_end.release()
    thread.close()
    assert disk.syncs == 2


def test_the_one_who_asks_does_not_wait():
    """`request` returns while the disk still works."""
    disk = Disk()
    thread = FsyncThread(disk.sync)
    thread.request()
    assert disk.begun.acquire(timeout=10)
    assert disk.syncs == 0
    disk.may_end.release()
    thread.close()


def test_many_threads_start_one():
    """Eight that ask first at the same moment get one thread between them."""
    names, together = set(), threading.Barrier(8)
    thread = FsyncThread(lambda: names.add(threading.get_ident()))

    def ask():
        together.wait()
        thread.request()

    asking = [threading.Thread(target=ask) for _ in range(8)]
    for one in asking:
        one.start()
    for one in asking:
        one.join()
    running = [one for one in threading.enumerate() if one.ident in names or one.name == "audit-sync"]
    assert len(running) == 1
    thread.close()
    assert not running[0].is_alive()


def test_after_the_end_nothing_is_synced():
    """The caller syncs the rest itself; a late request starts no thread."""
    done = []
    thread = FsyncThread(lambda: done.append(1))
    thread.close()
    thread.request()
    thread.close()
    assert done == []
