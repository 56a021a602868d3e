"""Tells running drivers from dead ones by file locks, which the kernel frees when a process dies.

In: spool directories. Out: held locks, and a list of spools with alive or dead. A driver holds
`lock` from before its directory gets its name until it ends; a SIGKILL frees it at once, and no pid
or heartbeat can be mistaken.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.core.errors import SpoolBusyError
from audit.spool.layout import Layout, read_meta, require_version, spools_under

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PROBE_RETRIES = 5
_PROBE_SECONDS = 0.002
_WAIT_SECONDS = 0.05
# A UUID as `IdGenerator.new` writes it.
_DRIVER_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class SpoolInfo:
    """A spool directory as found.

    Attributes:
        path: the directory.
        driver_id: its driver.
        alive: whether a driver (or a recovery) holds it.
        version: its format, None where meta.json does not say.
        meta: what meta.json says.
        journal: number of segments not sealed; in a dead spool they wait for `recover`.
        sealed: number of segments that wait for ingest.
    """

    path: Path
    driver_id: str
    alive: bool
    version: int | None
    meta: dict[str, Any]
    journal: int
    sealed: int


def take_lock(path: Path) -> int | None:
    """Takes a lock file exclusively; its descriptor, or None where another holds it or it is gone.

    A prober holds the lock for microseconds (`is_held`), so a refusal is tried again for some milliseconds.

    Raises:
        OSError: the file system refused.
    """
    for attempt in range(_PROBE_RETRIES):
        if attempt:
            time.sleep(_PROBE_SECONDS)
        try:
            # O_CLOEXEC: a program that the driver starts must not inherit the lock.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except FileNotFoundError:
            return None
        try:
            # flock belongs to the open file, not to the process as fcntl's locks do: a second open in this
            # process is refused.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        if is_same(descriptor, path):
            return descriptor
        os.close(descriptor)
    return None


def is_same(descriptor: int, path: Path) -> bool:
    """Whether the locked file is still the one at `path`: retire may have removed it in between."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def is_held(path: Path) -> bool:
    """Whether a process holds a lock file. Probers share, so that two of them do not see each other."""
    try:
        # flock(2) needs no right to write: a prober may be another user.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # A shared lock: probers do not hinder each other.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextlib.contextmanager
def ingest_lock(spool_dir: Path, *, timeout: float = 0.0) -> Iterator[None]:
    """Keeps every other process from ingesting one spool while the block runs.

    Args:
        spool_dir: the driver's directory, alive or dead.
        timeout: seconds to wait for another ingest to end.

    Raises:
        SpoolBusyError: another process ingests it still, or the spool is gone.
        SpoolVersionError: the spool is of another format.
    """
    layout = Layout(spool_dir)
    require_version(layout)
    deadline = time.monotonic() + timeout
    descriptor = take_lock(layout.ingest_lock)
    # A retired spool has no meta.json any more, so nothing is left to wait for.
    while descriptor is None and time.monotonic() < deadline and layout.meta.exists():
        time.sleep(_WAIT_SECONDS)
        descriptor = take_lock(layout.ingest_lock)
    if descriptor is None:
        raise SpoolBusyError(f"another process ingests the spool {spool_dir}", "try again when it is done")
    try:
        yield
    finally:
        release_lock(descriptor)


def release_lock(descriptor: int) -> None:
    """Gives up a lock of `take_lock`, whatever forked child still has the descriptor."""
    # Closing alone would not free it while a forked child has the descriptor.
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def find_spools(root: Path) -> tuple[SpoolInfo, ...]:
    """The spools under a root, oldest driver first, those of other formats included.

    One that this user may not read (another user's, on a shared root) counts as alive: its driver, or a job
    of that user, takes it in.

    Raises:
        OSError: the directory cannot be read.
    """
    parent = spools_under(root)
    if not parent.is_dir():
        return ()
    # Other names are spools half made or half removed, or no spools at all.
    found = sorted(path for path in parent.iterdir() if _DRIVER_ID.fullmatch(path.name) and path.is_dir())
    return tuple(_inspect(Layout(path)) for path in found)


def _inspect(layout: Layout) -> SpoolInfo:
    try:
        meta = read_meta(layout) or {}
    # Another user's spool on a shared root.
    except PermissionError:
        return SpoolInfo(
            layout.path, layout.driver_id, alive=True, version=None, meta={}, journal=0, sealed=0
        )
    version = meta.get("version")
    return SpoolInfo(
        path=layout.path,
        driver_id=layout.driver_id,
        alive=is_held(layout.lock),
        version=version if isinstance(version, int) else None,
        meta=meta,
        journal=len(list(layout.journal.glob("*.*"))),
        sealed=len(layout.sealed_segments()),
    )
