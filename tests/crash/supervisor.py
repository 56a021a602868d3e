"""Starts drivers and kills them; then compares what they said with what the tables hold.

In: a root, a number of kills, a seed. Out: `Outcome`. Two drivers run at a time, so that one is adopted
while the other works; a fresh one starts as soon as one is killed. The time of each kill is random,
counted from the attach or from the first statement that returned: it falls into the adoption of the
dead, into an ingest (each second), into a statement. Every second kill takes Python alone and leaves
its JVM to find out; the others take both.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ABOVE = Path(__file__).parents[2]
LONGEST_SECONDS = 6.0
PATIENCE_SECONDS = 300.0


@dataclass(slots=True)
class Outcome:
    """What all drivers said: the markers of statements begun, and of those that returned."""

    begun: set[str] = field(default_factory=set)
    returned: set[str] = field(default_factory=set)
    kills: int = 0

    def faults(self, statuses: Counter[tuple[str, str]], records: Counter[str]) -> list[str]:
        """What is wrong with the tables, in words; empty when nothing is.

        Args:
            statuses: how many rows of query_history each (marker, status) has.
            records: how many rows of access_history each marker has.
        """
        rows = Counter(user for user, _ in statuses.elements())
        faults = [f"{user} stands {n} times in query_history" for user, n in rows.items() if n > 1]
        faults += [f"{user} stands {n} times in access_history" for user, n in records.items() if n > 1]
        faults += [
            f"{user} returned and is no SUCCESS" for user in self.returned if not statuses[user, "SUCCESS"]
        ]
        faults += [f"{user} returned and has no record" for user in self.returned if not records[user]]
        faults += [
            f"{user} is {status}" for user, status in statuses if status not in ("SUCCESS", "INCOMPLETE")
        ]
        faults += [f"{user} was never begun" for user in rows if user not in self.begun]
        faults += [
            f"{u} is INCOMPLETE with a record" for u, s in statuses if s == "INCOMPLETE" and records[u]
        ]
        return sorted(faults)


class Driver:
    """One child: started, listened to, killed."""

    def __init__(self, root: Path, name: str, outcome: Outcome) -> None:
        reader, writer = os.pipe()
        self.log = root / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.driver", str(root), name, str(writer)],
                cwd=ABOVE,
                env={**os.environ, "PYTHONPATH": str(ABOVE)},
                pass_fds=[writer],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        os.close(writer)
        self.attached = threading.Event()
        self.worked = threading.Event()
        self.outcome = outcome
        self.listener = threading.Thread(target=self.listen, args=(reader,))
        self.listener.start()

    def listen(self, reader: int) -> None:
        """Keep what the child says until no process holds the pipe any more."""
        with os.fdopen(reader, "rb") as lines:
            for line in lines:
                kind, _, user = line.decode().strip().partition(" ")
                if not line.endswith(b"\n"):
                    continue
                if kind == "A":
                    self.attached.set()
                elif kind == "B":
                    self.outcome.begun.add(user)
                else:
                    self.outcome.returned.add(user)
                    self.worked.set()

    def kill(self, *, jvm: bool) -> None:
        """SIGKILL to Python first, so that it never sees its JVM die; then to the JVM, or let it find out."""
        self.process.kill()
        self.process.wait()
        if jvm:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.listener.join()


def run(root: Path, kills: int, seed: int) -> Outcome:
    """Kill that many drivers.

    Raises:
        RuntimeError: a driver ended by itself; the message holds what it wrote.
    """
    root.mkdir(exist_ok=True)
    chance = random.Random(seed)  # noqa: S311 - when to kill is no secret
    outcome = Outcome()
    plans = [(f"k{n}", chance.uniform(0, LONGEST_SECONDS), chance.random() < 0.5) for n in range(kills)]
    running = [Driver(root, plans[0][0], outcome)]
    try:
        for number, (_, seconds, jvm) in enumerate(plans):
            if number + 1 < kills:
                running.append(Driver(root, plans[number + 1][0], outcome))
            # Half are timed from their first statement's return, so that a slow machine has work to lose.
            _wait(running[0], running[0].worked if number % 2 else running[0].attached)
            time.sleep(seconds)
            if running[0].process.poll() is not None:
                raise RuntimeError(f"a driver ended by itself: {running[0].log.read_text()[-3000:]}")
            running.pop(0).kill(jvm=jvm)
            outcome.kills += 1
    finally:
        for driver in running:
            driver.kill(jvm=True)
    return outcome


def _wait(driver: Driver, ready: threading.Event) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not ready.wait(0.1):
        if driver.process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"a driver did not start: {driver.log.read_text()[-3000:]}")
