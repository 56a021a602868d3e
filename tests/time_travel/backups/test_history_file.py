"""The events of backups, read without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from audit.core.config import Config
from audit.time_travel.backups.model.apply_events import state_after
from audit.time_travel.backups.model.events import COLUMNS, NAME, BackupEvent, row_of
from audit.time_travel.backups.stored_backups import read_state
from audit.time_travel.errors import BackupHistoryError

KINDS = {"BIGINT": pa.int64(), "TIMESTAMP": pa.timestamp("us", "UTC"), "STRING": pa.string()}
SCHEMA = pa.schema([(name, KINDS[kind]) for name, kind, _ in COLUMNS])
MADE = BackupEvent(7, "CREATE_SET", "s1", name="c.s.b", details={"domain": "Table", "of": "c.s.t"})
RENAMED = BackupEvent(8, "RENAME_SET", "e2", of_id="s1", name="c.s.ünïcode'd")


@pytest.fixture
def root(tmp_path):
    """A root whose name looks like a pattern and like an escape; the later event was written first."""
    for number, event in ((1, RENAMED), (0, MADE)):
        row = dict(zip(SCHEMA.names, row_of(number, event), strict=True))
        write_deltalake(str(tmp_path / NAME), pa.Table.from_pylist([row], SCHEMA), mode="append")
    # delta-rs (1.6) writes under no such name; it reads there.
    place = tmp_path / "it's 100% [a] root"
    place.mkdir()
    (tmp_path / NAME).rename(place / NAME)
    return place


def test_the_state_is_that_of_the_events(root):
    """In the order of their numbers, whatever the order of the files."""
    assert read_state(Config(str(root), "ann")) == state_after([MADE, RENAMED])


def test_no_event_yet(root, tmp_path):
    """No table, and a table without rows."""
    assert read_state(Config(str(tmp_path), "ann")) == state_after([])
    write_deltalake(str(tmp_path / NAME), SCHEMA.empty_table())
    assert read_state(Config(str(tmp_path), "ann")) == state_after([])


@pytest.mark.parametrize("files", ["*.parquet", "_delta_log/*.json"])
def test_a_file_that_is_damaged(root, files):
    """It is told: what is bound would be unknown otherwise."""
    for file in (root / NAME).glob(files):
        file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(BackupHistoryError, match=r"the events of backups under .*\[a\] root/backup_history"):
        read_state(Config(str(root), "ann"))
