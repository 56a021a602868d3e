"""Run in a process of its own: kills a scenario at its first, second, third … change to the disk.

One JSON line a step on stdout: what was found after the kill and a recovery. A child of this process
runs the scenario; an audit hook of the interpreter counts the calls that open, rename, remove or
truncate files below the root and sends the child SIGKILL before the one in question.
"""

import json
import os
import shutil
import signal
import sys
from collections import Counter
from pathlib import Path

from audit.spool import Spool, recover, remove_ingested
from audit.spool.layout import Layout

from .helpers import abandon, complete, records

_EVENTS = {"open", "os.rename", "os.remove", "os.truncate", "os.mkdir", "os.rmdir"}


def say(found):
    """Writes one JSON line for the test to read."""
    sys.stdout.write(json.dumps(found) + "\n")


def killed_at(step, work):
    """Runs `work` in a child that dies at its step-th change; whether it died."""
    child = os.fork()
    if child == 0:
        seen = 0

        def hook(event, _arguments):
            nonlocal seen
            if event in _EVENTS:
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def template(root):
    """A dead spool as a crash in the midst of a rotation leaves it: two open segments that overlap, the first
    with a corrupt line, the second torn.
    """
    spool = Spool.open(root)
    spool.start("done", {"text": "a"})
    spool.end("done", {"status": "SUCCESS"})
    spool.record("done", {"status": "SUCCESS"})
    spool.start("rotted", {"text": "b"})
    spool.start("ended", {"text": "c"})
    spool.end("ended", {"status": "FAIL"})
    spool.fact("ended", {"fact": 1})
    spool.start("ran", {"text": "d"})
    spool.start("late", {"text": "e"})
    spool.sync()
    abandon(spool)
    first, second = (Layout(spool.path).open_segment(number) for number in (1, 2))
    lines = first.read_bytes().splitlines(keepends=True)
    carried = [line for line in lines if b'"done"' not in line and b'"rotted"' not in line]
    first.write_bytes(b"".join(lines).replace(b'"b"', b'"x"'))
    late = next(line for line in carried if b'"late"' in line)
    second.write_bytes(b"".join(carried) + late.replace(b" S ", b" R ")[:20])
    return spool.path


def recovery(root):
    """recover() killed at each step, then run again; in every second run ingest comes in between."""
    for ingest_between in (False, True):
        step = 0
        killed = True
        while killed:
            step += 1
            where = root / f"{ingest_between}-{step}"
            spool_dir = template(where)
            killed = killed_at(step, lambda path=spool_dir: recover(path, complete))
            early = records(spool_dir)
            if ingest_between:
                remove_ingested(spool_dir, (spool_dir / "sealed").glob("*.jsonl"))
            recover(spool_dir, complete)
            found = records(spool_dir) + (early if ingest_between else Counter())
            left = sorted(path.name for path in (spool_dir / "journal").iterdir())
            say({"step": step, "killed": killed, "found": found, "left": left})
            shutil.rmtree(where)


def rotation(root):
    """A driver killed at each step of its rotations, then recovered."""
    step = 0
    killed = True
    while killed:
        step += 1
        where = root / str(step)

        def work(path=where):
            spool = Spool.open(path)
            for number in range(3):
                spool.start(f"long{number}", {})
                spool.start(f"short{number}", {})
                spool.record(f"short{number}", {})
                spool.rotate()
            spool.record("long0", {})
            spool.rotate()

        killed = killed_at(step, work)
        found = {}
        for spool_dir in (where / "spool").glob("[0-9]*"):
            recover(spool_dir, complete)
            found = records(spool_dir)
        say({"step": step, "killed": killed, "found": found, "left": []})
        shutil.rmtree(where, ignore_errors=True)


if __name__ == "__main__":
    {"recovery": recovery, "rotation": rotation}[sys.argv[1]](Path(sys.argv[2]))
