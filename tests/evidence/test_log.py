"""The log of digests as drivers write it: in turns, at once, after silence, after a cut, with another key."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from audit import suppress
from audit.core.clock import ManualClock, SystemClock
from audit.core.errors import SpoolUnavailableError
from audit.evidence import bind, bound_tables, keys
from audit.evidence.bound_tables import BoundTable
from audit.evidence.digest_log import DigestLog
from audit.evidence.entries import Draft
from audit.query.digests.check_log import check_log
from audit.query.digests.check_rows import ALTERED, GONE, INSERTED
from audit.query.digests.check_tables import entries_of
from audit.query.digests.held import held_by
from audit.query.tables import opened
from audit.query.verification import verify
from audit.store.days import retention
from tests.ops.helpers import DAY, NOON, WRITE, Source, ingest_all

from .tampering import commit, files_of, newest, put_back

pytestmark = pytest.mark.spark

HOUR = 3_600_000_000


def log_of(spark, root, home=None, now=NOON):
    """The log of a root, for a driver whose spools lie in a folder, at a time."""
    return DigestLog(spark, str(root), home or root, ManualClock(now))


def entries(root):
    """Of the log, as the table has them."""
    with opened(str(root), whole=False) as tables:
        return entries_of(tables)


def kinds(root):
    """Of its entries, in their order."""
    return [one.said()["kind"] for one in entries(root)]


def faults(root, home=None):
    """What `audit verify` finds when nothing is on its way any more."""
    with opened(str(root)) as tables:
        found = verify(tables, held=held_by(home or root, SystemClock().now() + HOUR))
    return [(one.query_id, one.fault) for one in found.faults]


def test_drivers_take_turns(spark, tmp_path):
    """Each with a folder of its own, and the same key; the tree is one."""
    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    keys.signer_of(homes[0])
    shutil.copy(homes[0] / keys.FILE, homes[1] / keys.FILE)
    for turn in range(4):
        log_of(spark, tmp_path, homes[turn % 2]).append([Draft("INTERVAL", {"driver": str(turn)})] * 2)
    found = check_log(entries(tmp_path), keys.signer_of(homes[0]).verifier, ())
    assert (len(found.said), found.faults) == (8, [])


def test_drivers_write_at_once(spark, tmp_path):
    """None is lost, and none has the place of another."""

    def write(number):
        with suppress():
            return log_of(spark, tmp_path).append([Draft("INTERVAL", {"driver": str(number)})])[0].sequence

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(write, range(8)))
    assert sorted(places) == list(range(8))
    assert check_log(entries(tmp_path), keys.signer_of(tmp_path).verifier, ()).faults == []


def test_another_key_is_told(spark, tmp_path):
    """A machine that has made a key of its own: nobody vouches for it."""
    log_of(spark, tmp_path).append([Draft("INTERVAL")])
    other = tmp_path / "other"
    other.mkdir()
    log_of(spark, tmp_path, other).append([Draft("INTERVAL")])
    (fault,) = check_log(entries(tmp_path), keys.signer_of(tmp_path).verifier, ()).faults
    assert fault.startswith("entry 1 of the log of digests has no valid signature: the note is not signed by")


def test_silence_is_signed_once_an_hour(spark, root):
    """While a driver runs; before the first entry there is nothing to say."""
    empty = root.parent / "empty"
    empty.mkdir()
    bind.keep_alive(log_of(spark, empty), "driver", NOON)
    assert not (empty / "digests").exists()
    before = kinds(root)
    last = log_of(spark, root).head().time
    for minutes in (1, 59, 61, 62, 110, 125):
        now = last + minutes * HOUR // 60
        bind.keep_alive(log_of(spark, root, now=now), "driver", now)
    assert kinds(root)[len(before) :] == ["INTERVAL", "INTERVAL"]
    assert faults(root) == []


def test_a_missing_hour_shows(spark, root):
    """A driver was there before and after it."""
    driver = entries(root)[-1].said()["batch"].partition("/")[0]
    last = log_of(spark, root).head().time
    for hours in (1, 2, 5):
        bind.keep_alive(log_of(spark, root, now=last + hours * HOUR), driver, last + hours * HOUR)
    with opened(str(root)) as tables:
        found = verify(tables, held=held_by(root, last + 6 * HOUR))
    assert found.faults == ()
    (gap,) = found.gaps
    assert gap.endswith(f"although driver {driver} ran")


def test_a_driver_finds_a_log_that_was_cut(spark, root):
    """It signs that, and goes on: from then on everybody is told."""
    whole = log_of(spark, root).head()
    put_back(root, "digests", newest(root, "digests") - 1)
    with suppress():
        log_of(spark, root).append([Draft("INTERVAL")])
    assert kinds(root)[-2:] == ["BROKEN", "INTERVAL"]
    assert entries(root)[-2].said()["checkpoint"] == whole.checkpoint
    (root / "evidence.head").unlink()
    assert any("was cut off, or exchanged: a driver held a checkpoint" in fault for _, fault in faults(root))


def test_a_log_that_was_deleted_begins_anew(spark, root):
    """And says so first."""
    spark.sql(f"DROP TABLE IF EXISTS delta.`{root}/digests`")
    shutil.rmtree(root / "digests", ignore_errors=True)
    with suppress():
        log_of(spark, root).append([Draft("INTERVAL")])
    assert kinds(root) == ["BROKEN", "INTERVAL"]


def test_retention_signs_what_goes(spark, root, ids):
    """With its root; then the leaves go, and rows that are put back are found."""
    files = files_of(root, "query_history")
    log = log_of(spark, root, now=NOON + 4 * DAY)
    with suppress():
        found = retention.retain(
            spark, str(root), lambda _: 3, ManualClock(NOON + 4 * DAY),
            lambda gone: bind.bind_retention(log, {one.table: one.days for one in gone}),
        )  # fmt: skip
    assert {one.table: len(one.days) for one in found if one.days}.keys() == {
        "access_history", "query_history", "column_lineage", "table_lineage",
    }  # fmt: skip
    said = entries(root)[-1].said()
    assert said["kind"] == "RETENTION"
    (gone,) = [one for one in said["deleted"] if one["table"] == "query_history"]
    assert (gone["day"], gone["rows"], gone["entries"]) == ("2026-01-01", 8, 1)
    assert faults(root) == []
    with suppress():
        log.forget_leaves(min(one.oldest_kept for one in found))
    assert faults(root) == []
    (name,) = [one for one in files if "2026-01-01" in one]
    path = root / "query_history" / name
    add = {"path": name, "partitionValues": {"query_date": "2026-01-01"}, "size": path.stat().st_size,
           "modificationTime": 0, "dataChange": True}  # fmt: skip
    commit(root, "query_history", [{"add": add}])
    assert (ids[0][0], f"query_history: {INSERTED}") in faults(root)


def test_rows_that_were_signed_without_groups(spark, tmp_path, monkeypatch):
    """The log says of each entry which columns its texts have, and in which groups."""
    source = Source(tmp_path)
    source.access = WRITE
    with monkeypatch.context() as patch:
        patch.setattr(bound_tables, "GROUPS", {})
        made = BoundTable.parts
        patch.setattr(
            BoundTable, "parts", lambda self, rows: made(self, replace(rows, repeated={}, statements=None))
        )
        old = source.run(2)
        source.spool.rotate()
        (done,) = ingest_all(spark, tmp_path, create=True)
    assert done.error is None
    new = source.run(2)
    source.spool.close()
    ingest_all(spark, tmp_path)
    columns = [len(one.said()["columns"]) for one in entries(tmp_path) if one.said()["kind"] == "COLUMNS"]
    assert len(columns) == 8
    assert columns[:4] > columns[4:]
    assert faults(tmp_path) == []
    for query_id in (old[0], new[0]):
        spark.sql(
            f"UPDATE delta.`{tmp_path}/column_lineage` SET source_column_name = 'x'"
            f" WHERE query_id = '{query_id}'"
        )
    assert sorted(faults(tmp_path)) == sorted(
        (query_id, f"column_lineage: {ALTERED}") for query_id in (old[0], new[0])
    )


def test_rows_from_before_the_log(spark, tmp_path):
    """They are counted at its beginning: nobody vouches for them, but none goes or comes unseen."""
    source = Source(tmp_path)
    old = source.run(5)
    source.spool.close()
    ingest_all(spark, tmp_path, create=True)
    # As a root that an older version has written.
    shutil.rmtree(tmp_path / "digests")
    (tmp_path / "evidence.head").unlink()
    source = Source(tmp_path, NOON + HOUR)
    new = source.run(3)
    source.spool.close()
    ingest_all(spark, tmp_path)
    assert entries(tmp_path)[0].said()["unbound"] == {
        "access_history": {"2026-01-01": 5}, "query_history": {"2026-01-01": 5},
    }  # fmt: skip
    with opened(str(tmp_path)) as tables:
        found = verify(tables, held=held_by(tmp_path, SystemClock().now() + HOUR))
    assert (found.faults, found.unsigned) == ((), 10)
    for table in ("access_history", "query_history"):
        spark.sql(f"DELETE FROM delta.`{tmp_path}/{table}` WHERE query_id IN ('{old[0]}', '{new[0]}')")
    told = faults(tmp_path)
    assert (new[0], f"query_history: {GONE}") in told
    said = (
        "query_history: 2026-01-01 has 4 rows that nobody has signed; it had 5 when the log of digests began"
    )
    assert ("", said) in told


def test_a_key_that_is_damaged_stops_the_ingest(spark, tmp_path):
    """The records stay in the spool, and come when it is there again."""
    source = Source(tmp_path)
    ids = source.run(2)
    source.spool.close()
    (tmp_path / keys.FILE).write_text("no key")
    (said,) = ingest_all(spark, tmp_path, create=True)
    assert "evidence.key holds no key" in str(said.error)
    assert list(tmp_path.glob("spool/*/sealed/*.jsonl"))
    (tmp_path / keys.FILE).unlink()
    (said,) = ingest_all(spark, tmp_path)
    assert (said.error, said.ingested.statements) == (None, len(ids))
    assert faults(tmp_path) == []


def test_a_key_that_cannot_be_read_is_told(spark, tmp_path):
    """As one that lies there as a folder."""
    (tmp_path / keys.FILE).mkdir()
    with pytest.raises(SpoolUnavailableError):
        log_of(spark, tmp_path).append([Draft("INTERVAL")])


def test_small_files_are_put_together(spark, root):
    """The end of the log is known afterwards without reading it."""
    log = log_of(spark, root)
    for _ in range(20):
        log.append([Draft("INTERVAL")])
        with suppress():
            log.compact(1)
    assert len(files_of(root, "digests")) < 20
    assert json.loads((root / "evidence.head").read_text())["version"] == newest(root, "digests")
    assert faults(root) == []
