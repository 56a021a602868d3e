"""Random histories of honest drivers: whatever they do, and wherever they are killed, nothing is told."""

from __future__ import annotations

import contextlib
import random
from functools import partial

import pytest

from audit import suppress
from audit.core.clock import ManualClock, SystemClock
from audit.evidence import bind
from audit.evidence.digest_log import DigestLog
from audit.ingest import folder
from audit.policies.model import events as governance
from audit.query.digests.held import held_by
from audit.query.tables import opened
from audit.query.verification import verify
from audit.spark.delta.event_table import HistoryTable
from audit.store.days import compaction, retention
from lineage import Access
from tests.ops.helpers import DAY, NOON, WRITE, Source, ingest_all, make_tables

pytestmark = pytest.mark.spark

STEPS = 8
KEPT_DAYS = 4


class Killed(BaseException):
    """The ingest ends here."""


class History:
    """A root, its drivers, and a clock that only goes forward."""

    def __init__(self, spark, root, seed, monkeypatch):
        self.spark, self.root, self.random, self.patch = spark, root, random.Random(seed), monkeypatch  # noqa: S311 - not a secret
        self.now, self.drivers, self.events = NOON, [], 0
        self.running = {}
        make_tables(spark, root)
        # It would free nothing in these minutes, and take half of them.
        monkeypatch.setattr(retention, "_vacuum", lambda *_: None)

    def driver(self):
        """One of two that run, or a new one."""
        if len(self.drivers) < 2 and (not self.drivers or self.random.random() < 0.3):
            self.drivers.append(Source(self.root, self.now))
        return self.random.choice(self.drivers)

    def run(self):
        """Queries, writes and failures."""
        source = self.driver()
        for _ in range(self.random.randint(1, 6)):
            source.access = WRITE if self.random.random() < 0.4 else Access("SELECT")
            source.end(source.start("SELECT 'é\x01'"), self.random.choice(["SUCCESS", "SUCCESS", "FAIL"]))

    def start(self):
        """A statement that takes its time."""
        source = self.driver()
        self.running[source.start("SELECT slowly").query_id] = source

    def finish(self):
        """The drivers end: in order, or as by a SIGKILL."""
        for source in self.drivers:
            source.die() if self.random.random() < 0.5 else source.spool.close()
        self.drivers.clear()

    def event(self):
        """Somebody is granted a role: now, by the clock that entries are signed by."""
        table = HistoryTable(self.spark, f"{self.root}/{governance.NAME}", governance.COLUMNS, "sequence")
        table.create()
        event = governance.GovernanceEvent(SystemClock().now(), "GRANT_ROLE", f"event-{self.events}")
        table.append([governance.row_of(self.events, event)])
        self.events += 1

    def ingest(self):
        """Take in what all drivers have recorded."""
        for source in self.drivers:
            source.spool.rotate()
        ingest_all(self.spark, self.root)

    def kill(self):
        """The same, ended at one of its writes."""
        left = self.random.randint(0, 5)

        def step(work, *words, **options):
            nonlocal left
            left -= 1
            if left == 0:
                raise Killed
            done = work(*words, **options)
            left -= 1
            if left == 0:
                raise Killed
            return done

        with self.patch.context() as patch, contextlib.suppress(Killed):
            patch.setattr(folder, "bind_batch", partial(step, bind.bind_batch))
            patch.setattr(folder, "commit_audit_rows", partial(step, folder.commit_audit_rows))
            self.ingest()

    def compact(self):
        """Each ingest of the next step puts files together."""
        with self.patch.context() as patch:
            patch.setattr(compaction, "EVERY", 1)
            self.run()
            self.ingest()
        DigestLog(self.spark, str(self.root), self.root, ManualClock(self.now)).compact(99)

    def day(self):
        """Another day; what is older than some is deleted."""
        self.now += DAY
        for source in self.drivers:
            source.clock.set(self.now)
        log = DigestLog(self.spark, str(self.root), self.root, ManualClock(self.now))
        with suppress():
            found = retention.retain(
                self.spark, str(self.root), lambda _: KEPT_DAYS, ManualClock(self.now),
                lambda gone: bind.bind_retention(log, {one.table: one.days for one in gone}),
            )  # fmt: skip
            log.forget_leaves(min(one.oldest_kept for one in found))

    def faults(self):
        """What `audit verify` finds when the clock of the machine says a day from now."""
        with opened(str(self.root)) as tables:
            return verify(tables, held=held_by(self.root, 4 * NOON)).faults


def play(spark, root, seed, monkeypatch):
    """A history of some steps, each of which is looked at."""
    history = History(spark, root, seed, monkeypatch)
    steps = [
        history.run, history.run, history.start, history.finish, history.event, history.ingest,
        history.kill, history.compact, history.day,
    ]  # fmt: skip
    said = []
    for _ in range(STEPS):
        step = history.random.choice(steps)
        step()
        said.append(step.__name__)
        assert history.faults() == (), (seed, said)
    history.finish()
    history.ingest()
    assert history.faults() == (), (seed, said)


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_told_of_an_honest_history(spark, tmp_path, monkeypatch, seed):
    """Four of them."""
    play(spark, tmp_path, seed, monkeypatch)


@pytest.mark.slow("a hundred histories")
@pytest.mark.long("a thousand histories")
@pytest.mark.parametrize("hundred", range(10))
def test_nothing_is_told_of_a_thousand(spark, tmp_path, monkeypatch, hundred):
    """A hundred at a time."""
    for seed in range(100 + 100 * hundred, 200 + 100 * hundred):
        play(spark, tmp_path / str(seed), seed, monkeypatch)
