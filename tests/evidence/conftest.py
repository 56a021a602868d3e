"""A root with three days of statements, two drivers and events, which each test copies."""

from __future__ import annotations

import shutil

import pytest

from audit.policies.model import events as governance
from audit.spark.delta.event_table import HistoryTable
from audit.time_travel.dropped import drop_registry
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
