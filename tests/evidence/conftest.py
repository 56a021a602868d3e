"""A root with three days of statements, two drivers and events, which each test copies."""

from __future__ import annotations

import json
import shutil

import pytest

from audit.core.clock import SystemClock
from audit.exchange.incoming.take_in import Importing
from audit.exchange.names import DatasetNames
from audit.policies.model import events as governance
from audit.spark.delta.event_table import HistoryTable
from audit.time_travel.dropped import drop_registry
from tests.exchange import producers
from tests.ops.helpers import DAY, NOON, WRITE, Source, ingest_all


def governance_event(number):
    """A row of governance_history."""
    event = governance.GovernanceEvent(NOON + number, "GRANT_ROLE", f"event-{number}", name=f"role_{number}")
    return governance.row_of(number, event)


def drop_event(number):
    """A row of object_history."""
    event = drop_registry.ObjectEvent(
        NOON + number, "DROPPED", f"drop-{number}", "TABLE", ("c", "s", "t"), retention_days=1.5, user="ann"
    )
    return drop_registry._row(event)


def take_in_runs(root):
    """Import a run of dbt, an event at a time; its lineage has three edges."""
    start, complete = producers.dbt()
    for number, event in enumerate((start, complete)):
        path = root / f"dbt-{number}.json"
        path.write_text(json.dumps(event))
        Importing(str(root), DatasetNames("spark://local"), SystemClock(), "ann", str).files([path])
        path.unlink()


@pytest.fixture(scope="module")
def history(spark, tmp_path_factory):
    """The root, and the ids of its statements, a list for each of its batches."""
    root = tmp_path_factory.mktemp("history")
    ids = []
    for day in range(3):
        source = Source(root, NOON + day * DAY)
        ids.append(source.run(4, "SELECT 'é \"\\\\ \x01'"))
        source.access = WRITE
        ids[-1] += source.run(3, "INSERT INTO t SELECT …")
        source.end(source.start("SELECT nothing"), "FAIL")
        source.spool.close()
        for name, columns, row_of, order in (
            (governance.NAME, governance.COLUMNS, governance_event, "sequence"),
            (drop_registry.NAME, drop_registry.COLUMNS, drop_event, None),
        ):
            table = HistoryTable(spark, f"{root}/{name}", columns, order)
            table.create()
            table.append([row_of(2 * day), row_of(2 * day + 1)])
        if day == 1:
            take_in_runs(root)
        ingest_all(spark, root, create=day == 0)
    return root, ids


@pytest.fixture
def root(history, tmp_path):
    """A copy."""
    target = tmp_path / "root"
    shutil.copytree(history[0], target)
    return target


@pytest.fixture
def ids(history):
    """Of the statements, a list for each batch."""
    return history[1]
