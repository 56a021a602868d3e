"""What `audit backup run` does goes into a spool, as the statements would that do the same."""

from __future__ import annotations

import json

import pytest

from audit.cli.output import Output
from audit.cli.time_travel.backup_records import DoneRun, record_runs
from audit.cli.tool import Tool
from audit.core.config import load
from audit.spool import read_segment
from audit.time_travel.backups.service import BackupRun

NOON = 1_767_268_800_000_000  # 2026-01-01T12:00:00Z
SET = "spark_catalog.s.`a.b`"


@pytest.fixture
def tool(tmp_path):
    """Of an empty root."""
    return Tool(load({"root": str(tmp_path), "user": "ann"}, environ={}), {})


def recorded(tool):
    """The records that wait: the rows of both tables."""
    segments = [read_segment(file) for file in tool.config.spool_home.rglob("*.jsonl")]
    rows = [entry.payload for segment in segments for entry in segment.entries if entry.kind == "R"]
    return [(row["query"], row["access"][0]["object_modified_by_ddl"]) for row in rows]


def test_what_is_made_and_what_has_expired(tool):
    """With the set, the backup and how long it took; what failed, or another run did, changed nothing."""
    runs = [
        BackupRun("CREATED", SET, "b1", 10), BackupRun("FAILED", SET, problem="x"),
        BackupRun("SKIPPED", SET), BackupRun("HASHED", SET, "b0"), BackupRun("EXPIRED", SET, "b0"),
    ]  # fmt: skip
    done = [DoneRun(one, NOON + n * 1_000_000, NOON + (n + 1) * 1_000_000) for n, one in enumerate(runs)]
    record_runs(tool, Output(as_json=False), done)
    (made, added), (gone, dropped) = recorded(tool)
    told = (
        "user_name",
        "role_name",
        "query_type",
        "action",
        "execution_status",
        "total_elapsed_time",
        "query_text",
    )
    same = ("ann", "ACCOUNTADMIN", "ALTER_BACKUP_SET", "audit backup run", "SUCCESS", 1000)
    name = "`spark_catalog`.`s`.`a.b`"
    assert tuple(made[one] for one in told) == (*same, f"ALTER BACKUP SET {name} ADD BACKUP")
    assert tuple(gone[one] for one in told) == (
        *same,
        f"ALTER BACKUP SET {name} DELETE BACKUP IDENTIFIER 'b0'",
    )
    assert made["start_time"] == "2026-01-01T12:00:00.000000Z"
    assert {(one["objectDomain"], one["objectName"], one["operationType"]) for one in (added, dropped)} == {
        ("BACKUP SET", SET, "ALTER")
    }
    assert json.loads(added["properties"]) == {
        "backups": {"b1": {"subOperationType": "ADD", "isScheduled": {"value": True}}}
    }
    assert json.loads(dropped["properties"]) == {
        "backups": {"b0": {"subOperationType": "DROP", "isExpired": {"value": True}}}
    }


def test_nothing_done(tool):
    """No spool is made."""
    record_runs(tool, Output(as_json=False), [DoneRun(BackupRun("SKIPPED", SET), NOON, NOON)])
    assert not (tool.config.spool_home / "spool").exists()
