"""Two at once, and kills at the worst point: a backup is whole or there is none, and nobody loses one."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import pytest
from delta import DeltaTable

import audit
from audit import attached_sessions
from audit.core.actor import Actor
from audit.time_travel import errors
from audit.time_travel.backups.backup_log import BackupLog
from audit.time_travel.backups.store.local_store import LocalStore
from audit.time_travel.backups.verify_backups import verified_backups
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES
LEDGER = "moving_session"
HOUR = 3_600_000_000


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture
def session(moving_session):
    """On a clock that moves."""
    return moving_session


@pytest.fixture
def sales(session, schema):
    """A table with files of an older version, its set and a schedule."""
    session.sql("CREATE TABLE sales (a INT)")
    for number in range(4):
        session.sql(f"INSERT OVERWRITE sales VALUES ({number})")
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE' EXPIRE_AFTER_DAYS = 1")
    session.sql("CREATE BACKUP SET s FOR TABLE sales WITH BACKUP POLICY p")
    return f"{schema}.sales"


@pytest.fixture
def service(session):
    """The service of backups."""
    return attached_sessions.find(session).services.backups


def actor(session):
    """Who runs the schedules, now."""
    services = attached_sessions.find(session).services
    return Actor(services.clock(), "runner", None, services.new_id)


def run(session):
    """What `audit backup run` does."""
    with audit.suppress():
        service = attached_sessions.find(session).services.backups
        return [one.what for one in service.run_schedules(actor(session))]


def shown(session):
    """The ids of the backups of the set."""
    return [row.backup_id for row in session.sql("SHOW BACKUPS IN BACKUP SET s").collect()]


def folders(service):
    """Of all backups that lie there, whole or not."""
    store = service.files.store_at("")
    there = [folder for one in store.sets() for folder in (*store.published(one), *store.unfinished(one))]
    return sorted(folder.rpartition("/")[2] for folder in there)


def whole(session):
    """Whether each backup is as it was."""
    config = attached_sessions.find(session).services.config
    return all(not one.damages for one in verified_backups(config, None, lambda _: None))


def at_once(*works):
    """Run functions in threads that begin together; what each returned or raised."""
    begin = threading.Barrier(len(works))

    def started(work):
        begin.wait()
        try:
            return work()
        except errors.BackupError as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(started, work) for work in works]]


def statement(session, text):
    """A function that runs it."""
    return lambda: session.sql(text).collect()


def test_two_runners(session, sales, service, time_passes):
    """One of them makes the backup that is due, and expires what has expired; no folder is left over."""
    for _ in range(3):
        time_passes(hours=1.1)
        told = at_once(*[lambda: run(session)] * 2)
        assert sorted(told) in ([[], ["CREATED"]], [["CREATED"], ["SKIPPED"]])
    assert len(shown(session)) == 3
    assert folders(service) == sorted(shown(session))
    session.sql("ALTER BACKUP SET s SUSPEND BACKUP CREATION POLICY")
    time_passes(days=2)
    told = at_once(*[lambda: run(session)] * 2)
    assert sorted(chain.from_iterable(told)) == ["EXPIRED"] * 3
    assert folders(service) == []


def test_a_backup_against_a_deletion_of_its_files(session, sales):
    """It is whole, or refused with the file's name; a VACUUM of what is current takes nothing."""
    for number in range(2):
        file = Path(session.table("sales").inputFiles()[0].removeprefix("file:"))
        data = file.read_bytes()
        add, _ = at_once(statement(session, "ALTER BACKUP SET s ADD BACKUP"), file.unlink)
        if isinstance(add, Exception):
            assert isinstance(add, errors.BackupIncompleteError)
            assert file.name in str(add)
        file.write_bytes(data)
        assert whole(session), number
        statements = "ALTER BACKUP SET s ADD BACKUP", "VACUUM sales", "INSERT OVERWRITE sales VALUES (7)"
        told = at_once(*[statement(session, text) for text in statements])
        assert not any(isinstance(one, Exception) for one in told)
        assert whole(session), number
    assert shown(session)


@pytest.mark.slow("six rounds, each with a VACUUM")
def test_a_backup_against_vacuum(spark, session, sales, service):
    """VACUUM from outside, with the check off, of what an overwrite has just replaced: whole, or refused."""
    place = session.sql("DESCRIBE DETAIL sales").first().location.removeprefix("file:")
    check, outcomes = "spark.databricks.delta.retentionDurationCheck.enabled", set()
    session.conf.set(check, "false")

    def vacuum():
        session.sql("INSERT OVERWRITE sales VALUES (8)")
        with audit.suppress():
            list(DeltaTable.forPath(session, place)._jdt.vacuum(0.0).collect())

    for number in range(6):
        session.sql(f"INSERT OVERWRITE sales SELECT id FROM range({number}, {number + 40}, 1, 20)")
        add, _ = at_once(statement(session, "ALTER BACKUP SET s ADD BACKUP"), vacuum)
        outcomes.add(type(add))
        assert not isinstance(add, Exception) or isinstance(add, errors.BackupIncompleteError), add
        assert whole(session), number
    session.conf.unset(check)
    assert list in outcomes
    for number, backup in enumerate(shown(session)):
        session.sql(f"CREATE TABLE again{number} FROM BACKUP SET s IDENTIFIER '{backup}'")
        assert session.table(f"again{number}").count() in {1, 40}


def test_delete_against_hold(session, sales, service):
    """A held backup is there, or a deleted one is not held: one of the two is refused."""
    outcomes = set()
    for _ in range(4):
        session.sql("ALTER BACKUP SET s ADD BACKUP")
        backup = shown(session)[-1]
        deleted, held = at_once(
            statement(session, f"ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{backup}'"),
            statement(session, f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{backup}' ADD LEGAL HOLD"),
        )
        if isinstance(deleted, Exception):
            assert isinstance(deleted, errors.BackupHeldError)
            assert backup in shown(session)
            assert backup in folders(service)
            session.sql(f"ALTER BACKUP SET s MODIFY BACKUP IDENTIFIER '{backup}' REMOVE LEGAL HOLD")
        else:
            assert isinstance(held, errors.UnknownBackupError)
            assert backup not in [*shown(session), *folders(service)]
        outcomes.add(isinstance(deleted, Exception))
    assert outcomes


def test_a_kill_before_the_event(session, sales, service, time_passes, monkeypatch):
    """Its files are of no backup: a run removes them, when no driver can be at work on them any more."""

    def kill(*_):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(BackupLog, "change", kill)
        patch.setattr(LocalStore, "remove", kill)
        with pytest.raises(Killed):
            session.sql("ALTER BACKUP SET s ADD BACKUP")
    assert shown(session) == []
    (left,) = folders(service)
    session.sql("ALTER BACKUP SET s SUSPEND BACKUP CREATION POLICY")
    store, now = service.files.store_at(""), actor(session).time
    (folder,) = [one for of_set in store.sets() for one in store.unfinished(of_set) + store.published(of_set)]
    # The clock of files is the machine's.
    os.utime(store.location(folder), (now / 1e6, now / 1e6))
    run(session)
    assert folders(service) == [left]
    service.files.sweep(service.log.state(), now + 30 * HOUR)
    assert folders(service) == []
    session.sql("ALTER BACKUP SET s ADD BACKUP")
    assert whole(session)


ENDS = ("ALTER BACKUP SET s DELETE BACKUP IDENTIFIER '{}'", "DROP BACKUP SET s", None)
"""How a backup ends; None: by expiration."""


@pytest.mark.parametrize("text", ENDS, ids=["delete", "drop", "expire"])
def test_a_kill_after_the_event(session, sales, service, time_passes, monkeypatch, text):
    """The backup is gone, whatever lies there: nobody can read or restore it; a run removes the rest."""
    session.sql("ALTER BACKUP SET s ADD BACKUP")
    (backup,) = shown(session)
    session.sql("ALTER BACKUP SET s SUSPEND BACKUP CREATION POLICY")

    def kill(*_):
        raise Killed

    end = (lambda: run(session)) if text is None else statement(session, text.format(backup))
    if text is None:
        time_passes(days=2)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "remove", kill)
        with pytest.raises(Killed):
            end()
    assert folders(service) == [backup]
    with pytest.raises(errors.UnknownBackupError):
        session.sql(f"CREATE TABLE t FROM BACKUP SET s IDENTIFIER '{backup}'")
    service.files.sweep(service.log.state(), actor(session).time + 80 * HOUR)
    assert folders(service) == []
