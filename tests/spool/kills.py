"""Run in a process of its own: drivers that write statements, each killed by SIGKILL at a random moment.

One JSON line a kill on stdout: what the driver had said it wrote, and what recovery made of it. Two
writers and a rotating thread work in each driver; every second recovery is killed too, and run again.
"""

import itertools
import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from audit.spool import Spool, find_spools, recover

from .helpers import complete, sealed_entries


def drive(root, say):
    """Writes statements for ever; says what it started and ended after the call returned."""
    spool = Spool.open(root, segment_bytes=20_000)

    def write(name):
        for number in itertools.count():
            query_id = f"{name}{number}"
            spool.start(query_id, {"text": "SELECT 1" * 20})
            os.write(say, f"S {query_id}\n".encode())
            spool.end(query_id, {"status": "SUCCESS"})
            os.write(say, f"E {query_id}\n".encode())
            if number % 5:
                spool.record(query_id, {"status": "SUCCESS"}, "now" if number % 2 == 0 else "later")

    for name in "ab":
        threading.Thread(target=write, args=(name,)).start()
    while True:
        time.sleep(0.002)
        spool.rotate()


def in_child(work):
    """Forks a child that does `work`; its pid."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return child


def kill_after(child, seconds):
    """Sends SIGKILL after a while."""
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def once(root, number, chance):
    """One driver, one kill, one recovery."""
    reader, writer = os.pipe()
    child = in_child(lambda: drive(root, writer))
    os.close(writer)
    said = os.read(reader, 1)
    (alive,) = find_spools(root)
    refused = recover(alive.path, complete) is None
    collected = []
    collector = threading.Thread(target=lambda: collected.extend(iter(lambda: os.read(reader, 65536), b"")))
    collector.start()
    kill_after(child, chance.uniform(0, 0.08))
    collector.join()
    os.close(reader)
    (dead,) = find_spools(root)
    if number % 2:
        kill_after(in_child(lambda: recover(dead.path, complete)), chance.uniform(0, 0.004))
    report = recover(dead.path, complete)
    lines = (said + b"".join(collected)).decode().split("\n")[:-1]
    return {
        "alive": alive.alive and refused,
        "dead": not dead.alive,
        "started": [line[2:] for line in lines if line[0] == "S"],
        "ended": [line[2:] for line in lines if line[0] == "E"],
        "records": [(entry.query_id, entry.payload["status"]) for entry in sealed_entries(dead.path)],
        "again": recover(dead.path, complete).sealed is None,
        "sealed": report.sealed is not None,
    }


def main():
    """Arguments: root, number of kills, seed."""
    chance = random.Random(int(sys.argv[3]))  # noqa: S311 - when to kill is no secret
    for number in range(int(sys.argv[2])):
        sys.stdout.write(json.dumps(once(Path(sys.argv[1]) / str(number), number, chance)) + "\n")


if __name__ == "__main__":
    main()
