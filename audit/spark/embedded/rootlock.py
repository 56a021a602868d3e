"""One process a root: Derby, under the embedded metastore, lets one in at a time.

In: the root's folder. Out: a lock that lives as long as a process holds its file open, this one or the
JVM that inherits it; the operating system frees it whatever happens. Where files cannot be locked
(Windows, some network folders) Derby's own, less clear, refusal remains.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.core.errors import RootBusy

if TYPE_CHECKING:
    from pathlib import Path

if sys.platform != "win32":
    import fcntl

# A driver that was killed leaves a JVM that needs a moment to see it and to end.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RootLock:
    """The claim of this process on a root; `descriptors` are to be passed on to the JVM."""

    descriptors: tuple[int, ...]

    @classmethod
    def claim(cls, folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> RootLock:
        """Take the root for this process, waiting only for the JVM of a process that is dead.

        Raises:
            RootBusy: a living process has it, or the JVM of a dead one does not end.
            OSError: the lock file cannot be written.
        """
        path = folder / "metastore.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        deadline = time.monotonic() + patience_seconds
        while not _locked(descriptor):
            holder = path.read_text(encoding="ascii").strip()
            if _lives(holder) or time.monotonic() > deadline:
                os.close(descriptor)
                raise RootBusy(
                    f"process {holder or 'unknown'} has the metastore {folder / 'metastore'} open, and Derby "
                    f"lets one process in at a time",
                    "end that process, take another root, or call audit.attach on a session whose metastore "
                    "is shared (reading the audit tables by path needs no metastore)",
                )
            time.sleep(0.05)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        return cls((descriptor,))

    def release(self) -> None:
        """Let go, for a start that failed; a process that ends does it by itself."""
        for descriptor in self.descriptors:
            with suppress(OSError):
                os.close(descriptor)


def _locked(descriptor: int) -> bool:
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks; Derby's own remains
        return True
    return True


def _lives(pid: str) -> bool:
    if not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it lives, and belongs to someone else
        return True
    return True
