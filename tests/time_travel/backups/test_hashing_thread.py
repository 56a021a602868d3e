"""The thread that hashes: one after the other, an end at a close, errors told."""

from __future__ import annotations

import threading
import warnings

from audit.time_travel.backups.hashing_thread import HashingThread


def names():
    """Of the threads that hash."""
    return [one.name for one in threading.enumerate() if one.name == "audit-backup-hashes"]


def test_one_after_the_other():
    """The thread is there as long as there is something to do."""
    hashing, done = HashingThread(), []
    for turn in range(2):
        for number in range(20):
            hashing.add(lambda _, one=(turn, number): done.append(one) or "")
        assert hashing.wait(60)
        assert names() == []
    assert done == [(turn, number) for turn in range(2) for number in range(20)]


def test_a_close_ends_it_after_a_file():
    """What waits is not begun, and nothing is told; the caller goes on as soon as the file is read."""
    hashing, began, goes_on, done = HashingThread(), threading.Event(), threading.Event(), []

    def hash_one(file_is_read):
        began.set()
        assert goes_on.wait(60)
        file_is_read(1)
        done.append("first")
        return "told"

    hashing.add(hash_one)
    hashing.add(lambda _: done.append("second") or "")
    assert began.wait(60)
    threading.Timer(0.05, goes_on.set).start()
    hashing.close()
    hashing.add(lambda _: done.append("third") or "")
    assert (done, names()) == ([], [])


def test_what_goes_wrong_is_told():
    """And the next one is hashed all the same."""
    hashing, done = HashingThread(), []
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        hashing.add(lambda _: "a file was written to")
        hashing.add(lambda _: 1 / 0)
        hashing.add(lambda _: done.append("next") or "")
        assert hashing.wait(60)
    assert done == ["next"]
    first, second = [str(one.message) for one in told]
    assert first == "a file was written to"
    assert second.endswith("`audit backup run` tries again: ZeroDivisionError('division by zero')")
