"""A process that is killed at any of its calls to the file system leaves a whole backup, or none."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from pathlib import Path

import pytest

from audit.time_travel.backups.store.backup_store import Source
from audit.time_travel.backups.store.local_store import LocalStore

from .manifests import BACKUP

CALLS = frozenset({"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"})
"""Those of Python's audit events that change a file system, or open a file."""
FILES = 3


@pytest.fixture
def store(tmp_path):
    """In a folder of its own."""
    return LocalStore(tmp_path / "backups")


@pytest.fixture
def sources(tmp_path):
    """Files of a table."""
    made = []
    for number in range(FILES):
        file = tmp_path / f"{number}.parquet"
        file.write_bytes(bytes([number]) * 1_000)
        made.append(Source(str(file), f"tables/{number}.parquet"))
    return made


def make(store, sources):
    """A backup of the files."""
    store.take(sources, BACKUP)
    store.publish(BACKUP)


def killed_at(number, root, work):
    """Run in a process that is killed at its n-th call below a folder; whether it came so far."""
    with warnings.catch_warnings():
        # Python 3.12 warns where the process has threads; the child calls what the test gives it, and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        process = os.fork()
    if not process:
        calls = 0

        def count(event, arguments):
            nonlocal calls
            if event in CALLS and any(str(root) in str(one) or isinstance(one, int) for one in arguments[:2]):
                calls += 1
                if calls == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            work()
            os._exit(0)
        finally:  # the process of the tests is not to go on twice
            os._exit(1)
    _, status = os.waitpid(process, 0)
    assert os.WIFSIGNALED(status) or not status
    return os.WIFSIGNALED(status)


def is_whole(store):
    """Whether what lies there is a backup with all of its files, as they were."""
    return (
        store.is_published(BACKUP)
        and store.totals(BACKUP).files == FILES
        and not store.verify(BACKUP).damages
    )


def test_while_it_is_made(store, sources):
    """The next attempt goes on, and what is published is whole at each point."""
    number = 1
    while killed_at(number, store.root, lambda: make(store, sources)):
        assert not store.is_published(BACKUP) or is_whole(store), number
        make(store, sources)
        assert is_whole(store), number
        assert list(Path(store.location(BACKUP)).rglob("*.part*")) == []
        store.remove(BACKUP)
        number += 1
    assert number > 2 * FILES
    assert is_whole(store)


def test_while_it_is_deleted(store, sources):
    """It is whole, or no backup any more: never one with a file missing."""
    number, seen = 1, set()
    make(store, sources)
    while killed_at(number, store.root, lambda: store.remove(BACKUP)):
        seen.add(store.is_published(BACKUP))
        assert not store.is_published(BACKUP) or is_whole(store), number
        store.remove(BACKUP)
        assert store.sets() == ["set"]
        assert store.published("set") == store.unfinished("set") == []
        assert all(Path(source.location).read_bytes() for source in sources)
        make(store, sources)
        number += 1
    assert seen == {True, False}
    assert number > FILES
