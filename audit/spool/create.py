"""Creates a spool directory, and releases its lock in forked children.

In: the root, a driver id. Out: a directory that is locked from the moment it has its name. A
visible spool without a lock counts as dead, so a new one is locked before it gets its name.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from audit.core.json_text import to_json
from audit.spool.layout import DIRECTORIES, FORMAT_VERSION, Layout, spools_under, write_file
from audit.spool.liveness import take_lock
from audit.spool.segment import sync_directory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def create(root: Path, driver_id: str, meta: Mapping[str, Any]) -> tuple[Layout, int]:
    """Makes a driver's spool directory, durably; its layout and the descriptor of its lock.

    Raises:
        OSError: the file system refused.
    """
    parent = spools_under(root)
    parent.mkdir(parents=True, exist_ok=True)
    # Other processes ignore names that are no driver ids.
    hidden = parent / f".new-{driver_id}"
    lock = None
    try:
        _build(hidden, {"driver_id": driver_id, **meta})
        lock = _lock(Layout(hidden))
        # rename(2) of a folder is atomic: the spool appears whole, and locked.
        final = hidden.rename(parent / driver_id)
        sync_directory(parent)
    except BaseException:
        if lock is not None:
            os.close(lock)
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return Layout(final), lock


def _lock(layout: Layout) -> int:
    lock = take_lock(layout.lock)
    if lock is None:
        raise BlockingIOError(errno.EAGAIN, "its lock is held by another process", str(layout.lock))
    return lock


def _build(path: Path, meta: Mapping[str, Any]) -> None:
    # Entries hold the texts of statements: other users get no access.
    path.mkdir(mode=0o750)
    for name in DIRECTORIES:
        (path / name).mkdir(mode=0o750)
    # Host and pid are for people: the lock alone tells whether the driver lives.
    document = {"version": FORMAT_VERSION, "host": socket.gethostname(), "pid": os.getpid(), **meta}
    write_file(Layout(path).meta, to_json(document) + b"\n")


class LockHolder(Protocol):
    """What holds a driver's lock."""

    def disown(self) -> None:
        """Called in a forked child: closes its copy of the lock, which would keep a dead driver alive."""


def disown_in_children(holder: LockHolder) -> None:
    """Has `holder.disown` called in every forked child while the holder exists."""
    # register_at_fork has no counterpart that removes the function, so it must not keep the holder alive.
    reference = weakref.ref(holder)

    def forget() -> None:
        parent = reference()
        if parent is not None:
            parent.disown()

    os.register_at_fork(after_in_child=forget)
