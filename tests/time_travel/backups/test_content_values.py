"""What a backup says of itself, and the notes of restores: plain files, no Spark."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from audit.time_travel.backups.content.backup_content import (
    NAME,
    BackupContent,
    BackupTable,
    LeftOut,
    ObjectGrant,
    require_restorable,
    write_content,
)
from audit.time_travel.backups.content.copy_version import require_local
from audit.time_travel.backups.content.restore_notes import Placed, RestoreNote, held_note, note_for
from audit.time_travel.backups.files.publish import publish
from audit.time_travel.backups.store.local_store import LocalStore
from audit.time_travel.clones.copied_properties import copied_properties
from audit.time_travel.errors import BackupBusyError, BackupDamagedError, BackupNotLocalError
from lineage.model import Domain

FULL = ("spark_catalog", "s", "t")
TABLE = BackupTable("tables/0000", FULL, "file:/w/t", "id-1", 3, 5_000, 1, 4, {"comment": "é"})
CONTENT = BackupContent(
    Domain.SCHEMA, ("spark_catalog", "s"), 7, {"properties": {}},
    (TABLE,), ({"name": "v"},), ({"name": "f"},), (LeftOut("p", "a table of parquet"),),
    (ObjectGrant(Domain.VIEW, "v", "SELECT", "ROLE", "HR", option=True),),
)  # fmt: skip


@pytest.fixture
def backup(tmp_path):
    """A published backup of one table of one file."""
    folder = tmp_path / "set" / "one"
    log = folder / "tables" / "0000" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("{}\n")
    (log.parent / "a.parquet").write_bytes(b"rows")
    write_content(folder / NAME, CONTENT)
    publish(folder)
    return folder


def restorable(folder):
    """What a backup of this machine holds."""
    with LocalStore(folder.parent).fetched(folder.name) as backup:
        return require_restorable(backup)


def test_a_content_is_read_as_it_was_written(backup):
    """With the sums of its tables; its file is part of the manifest."""
    assert restorable(backup) == CONTENT
    assert (CONTENT.bytes, CONTENT.files) == (4, 1)


def test_an_unpublished_folder_is_no_backup(tmp_path):
    """Whatever lies in it."""
    write_content(tmp_path / NAME, CONTENT)
    with pytest.raises(BackupDamagedError, match="has no manifest"):
        restorable(tmp_path)


@pytest.mark.parametrize(
    ("path", "text", "what"),
    [
        (NAME, "{}", "backup.json is not the file of its manifest"),
        ("tables/0000/_delta_log/00000000000000000000.json", "{ }", "json is not the file of its manifest"),
        ("tables/0000/a.parquet", "more rows", "has 9 bytes instead of 4"),
        ("tables/0000/a.parquet", None, "is missing"),
    ],
)
def test_a_damaged_backup_is_not_restored(backup, path, text, what):
    """The error names the backup and the file."""
    (backup / path).unlink()
    if text is not None:
        (backup / path).write_text(text)
    with pytest.raises(BackupDamagedError, match=rf"backup {backup} is damaged: .*{what}"):
        restorable(backup)


def test_a_content_that_no_manifest_has_is_not_believed(backup):
    """Whoever puts it there afterwards could name other tables."""
    content = (backup / NAME).read_text()
    (backup / NAME).unlink()
    (backup / "manifest.jsonl").unlink()
    publish(backup)
    (backup / NAME).write_text(content)
    with pytest.raises(BackupDamagedError, match=rf"{NAME} is in no manifest"):
        restorable(backup)


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"domain": "PLANET"},
        {"name": "s"},
        {"made": None},
        {"tables": [{"folder": "tables/0000"}]},
        {"tables": [{**asdict(TABLE), "folder": "../../x"}]},
        {"views": ["v"]},
        {"grants": [{"domain": "PLANET"}]},
    ],
)
def test_what_is_no_content_is_refused(tmp_path, change):
    """By an error that names the file, also where the manifest was made of it."""
    write_content(tmp_path / NAME, CONTENT)
    found = json.loads((tmp_path / NAME).read_text())
    (tmp_path / NAME).write_text(json.dumps({**found, **change}))
    publish(tmp_path)
    with pytest.raises(BackupDamagedError, match=str(tmp_path)):
        restorable(tmp_path)


def test_a_place_elsewhere_is_refused():
    """With the name of the table and the way out."""
    with pytest.raises(BackupNotLocalError, match=r"s.t lies at s3a://b/t, not on .*DEEP CLONE"):
        require_local(("s", "t"), "s3a://b/t")


# -- notes ---------------------------------------------------------------------------------------

NOTE = RestoreNote("r1", "/b/one", FULL, (Placed("tables/0000", "t", "file:/w/_tables/t-1", "id-2"),))


class Handler:
    """Notes what it is told to delete."""

    def __init__(self, *, usable=True):
        self.usable, self.taken = usable, []

    def is_usable(self, _note):
        """As it was made."""
        return self.usable

    def take_back(self, note):
        """Keep it."""
        self.taken.append(note)


def test_a_note_outlives_a_killed_restore(tmp_path):
    """The next attempt with the same backup goes on by it, whatever the case of the name."""
    with held_note(tmp_path, FULL) as held:
        assert held.found is None
        held.write(NOTE)
        assert not held.is_prepared(NOTE, NOTE.tables[0])
        held.prepared(NOTE, NOTE.tables[0])
    with held_note(tmp_path, ("spark_catalog", "S", "T")) as held:
        assert note_for(held, Path("/b/one"), FULL, Handler(), _never) == NOTE
        assert held.is_prepared(NOTE, NOTE.tables[0])
        held.done()
    with held_note(tmp_path, FULL) as held:
        assert held.found is None
        assert not held.is_prepared(NOTE, NOTE.tables[0])


@pytest.mark.parametrize(("backup", "usable"), [("/b/two", True), ("/b/one", False)])
def test_a_note_of_another_backup_is_taken_back(tmp_path, backup, usable):
    """First; then the new one is kept. So is one whose tables were dropped meanwhile."""
    with held_note(tmp_path, FULL) as held:
        held.write(NOTE)
    handler, new = Handler(usable=usable), RestoreNote("r2", backup, FULL, ())
    with held_note(tmp_path, FULL) as held:
        assert note_for(held, Path(backup), FULL, handler, lambda: new) == new
    assert handler.taken == [NOTE]
    with held_note(tmp_path, FULL) as held:
        assert held.found == new


def test_one_restore_at_a_time(tmp_path):
    """To one name; an end of any kind lets the next one in."""
    with held_note(tmp_path, FULL):
        with pytest.raises(BackupBusyError, match=r"another restore to spark_catalog.s.t runs"):
            held_note(tmp_path, FULL).__enter__()
        with held_note(tmp_path, ("spark_catalog", "s", "u")):
            pass
    with held_note(tmp_path, FULL):
        pass


def test_a_damaged_note_is_named(tmp_path):
    """Nothing is deleted by it."""
    with held_note(tmp_path, FULL) as held:
        held.path.write_text("{")
    with pytest.raises(BackupDamagedError, match=r"the note .*json of a restore cannot be read"):
        held_note(tmp_path, FULL).__enter__()


def _never(*_args):
    raise AssertionError("not asked for")


# -- retention -----------------------------------------------------------------------------------


def test_a_copy_has_a_retention_of_its_own():
    """The source's own period goes with it; that of a replaced table stays."""
    days = "timeTravel.dataRetentionTimeInDays"
    source = {days: "5", "timeTravel.earlierRetention": "1:1", "delta.logRetentionDuration": "5 weeks"}
    new = copied_properties(source, "file:/w/_tables/t-1", {}, {}, 0, is_kept=True)
    assert (new[days], "timeTravel.earlierRetention" in new, "timeTravel.adopted" in new) == (
        "5",
        False,
        False,
    )
    replaced = copied_properties(source, "file:/w/_tables/t-1", {}, {}, 0, is_kept=True, before={days: "2"})
    assert replaced[days] == "2"
    owners = copied_properties(
        {"delta.deletedFileRetentionDuration": "90 days"}, "/t", {}, {}, 0, is_kept=False
    )
    assert owners["delta.deletedFileRetentionDuration"] == "90 days"
