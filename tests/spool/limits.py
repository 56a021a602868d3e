"""Run in a process of its own: spools under a limit on file sizes, and as a user without permission."""

import os
import resource
import sys
from pathlib import Path

from audit.core.errors import SpoolUnavailableError
from audit.spool import Spool, read_segment


def say(*words):
    """Writes words for the test to read."""
    sys.stdout.write(" ".join(words) + "\n")


def size(root):
    """A write that the kernel cuts short (RLIMIT_FSIZE; Python ignores SIGXFSZ), then has room again."""
    spool = Spool.open(root)
    spool.start("q1", {})
    (segment,) = (spool.path / "journal").iterdir()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (segment.stat().st_size + 100, hard))
    try:
        spool.start("q2", {"text": "x" * 1000})
    except SpoolUnavailableError as error:
        say(error.code, "ulimit" if "ulimit" in str(error) else str(error))
    say("whole" if not read_segment(segment).damaged else "torn")
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    spool.start("q3", {"text": "x" * 1000})
    say("again" if [one.query_id for one in spool.running()] == ["q1", "q3"] else "lost")


def permission(root):
    """A root that this user may not write, then one that it may until that is withdrawn."""
    denied, allowed = root / "denied", root / "allowed"
    denied.mkdir(mode=0o755)
    allowed.mkdir()
    os.chown(allowed, 65534, 65534)
    os.setegid(65534)
    os.seteuid(65534)
    try:
        Spool.open(denied)
    except SpoolUnavailableError as error:
        say(error.code, "permission" if "permission" in error.way_out else str(error))
    spool = Spool.open(allowed)
    spool.record("q1", {})
    (spool.path / "journal").chmod(0o500)
    try:
        spool.rotate()
    except SpoolUnavailableError:
        say("rotation")
    (spool.path / "journal").chmod(0o700)
    spool.rotate()
    say("recovered" if len(spool.sealed()) == 1 else "lost")


if __name__ == "__main__":
    {"size": size, "permission": permission}[sys.argv[1]](Path(sys.argv[2]))
