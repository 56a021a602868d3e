"""Where a statement comes from, what it is called and what for; and what happens to the logging itself."""

from __future__ import annotations

import getpass
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import audit
from audit import attached_sessions
from audit.core.errors import AttachError, ConfigInvalid
from audit.core.origin import measured
from audit.spool import read_segment
from audit.spool.layout import Layout
from audit.testing import records
from tests.sessions import NO_TABLES, attached

pytestmark = pytest.mark.spark

SHOWS = "from audit.core.origin import measured; print(measured().client_program)"
ATTACH = {**NO_TABLES, "query_tag": "by default", "purpose": "tests"}


def last(session):
    """The row of query_history of the newest record."""
    return records(session)[-1].query


def said(session):
    """The tag and the purpose of a statement that runs now."""
    session.sql("SELECT 1").collect()
    found = last(session)
    return found.query_tag, found.purpose


def events(session):
    """The rows about the logging, as ingest would take them in."""
    spool = attached_sessions.find(session).recorder.spool
    spool.sync()
    layout = Layout(spool.path)
    entries = [
        entry
        for path in (*layout.sealed_segments(), *layout.open_segments())
        for entry in read_segment(path).entries
    ]
    return [entry.payload["query"] for entry in entries if entry.kind == "G"]


def test_each_record_says_where_it_comes_from(session):
    """The machine, the program and the user of the operating system, who is not the audited one."""
    session.sql("SELECT 1").collect()
    found = last(session)
    assert (found.client_host, found.os_user) == (socket.gethostname(), getpass.getuser())
    assert found.client_program == measured().client_program
    assert found.client_version.startswith(f"Python {platform.python_version()}, PySpark 4.")
    assert socket.inet_aton(found.client_address)
    assert found.user_name != found.os_user or found.user_name == "root"


@pytest.mark.parametrize(
    ("command", "program"),
    [
        (["-c", SHOWS], "python"),
        (["nightly.py"], "nightly.py"),
        (["-m", "jobs.nightly"], "jobs.nightly"),
        (["-m", "jobs"], "jobs"),
    ],
)
def test_the_program(tmp_path, command, program):
    """Its name alone: arguments and folders may hold secrets."""
    (tmp_path / "jobs").mkdir()
    for name in ("nightly.py", "jobs/__init__.py", "jobs/__main__.py", "jobs/nightly.py"):
        (tmp_path / name).write_text("" if "init" in name else SHOWS)
    done = subprocess.run(
        [sys.executable, *command, "--password=x"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == program


@pytest.mark.parametrize(
    ("run", "tag"),
    [
        (lambda s: s.sql("SET audit.query_tag = nightly load"), "nightly load"),
        (lambda s: s.sql("SET audit.query_tag='quoted'"), "quoted"),
        (lambda s: s.conf.set("audit.query_tag", "by conf"), "by conf"),
        (lambda s: s.sql("EXECUTE IMMEDIATE 'SET audit.query_tag = inside'"), "inside"),
    ],
)
def test_a_session_says_what_its_statements_are_called(session, run, tag):
    """Until it says otherwise; then as it was attached. Another session's stay what they are."""
    other = session.newSession()
    assert said(session) == ("by default", "tests")
    run(session)
    assert said(session) == (tag, "tests")
    assert said(other) == ("by default", "tests")
    session.conf.unset("audit.query_tag")
    assert said(session) == ("by default", "tests")


def test_reset(session):
    """Of one setting, and of all."""
    session.sql("SET audit.purpose = art. 15")
    assert said(session) == ("by default", "art. 15")
    session.sql("RESET audit.purpose")
    assert said(session) == ("by default", "tests")


def test_a_block_goes_first(session):
    """What it does not say is as outside; another thread is outside."""
    found = []
    with audit.tagged("outer", purpose="billing"), audit.tagged("inner"):
        assert said(session) == ("inner", "billing")
        thread = threading.Thread(target=lambda: found.append(said(session)))
        thread.start()
        thread.join()
    assert found == [("by default", "tests")]
    assert said(session) == ("by default", "tests")


def test_what_a_statement_runs_is_called_as_it_is(session):
    """The children of a script, and what only the listener sees."""
    with audit.tagged("parent"):
        session.sql("BEGIN SELECT 1; SELECT 2; END").collect()
    assert {record.query.query_tag for record in records(session)[-2:]} == {"parent"}
    session.sql("SET audit.query_tag = seen")
    session._jsparkSession.sql("SELECT 77").collect()
    found = last(session)
    assert (found.query_tag, found.os_user) == ("seen", getpass.getuser())
    session.sql("RESET audit.query_tag")


def test_a_secret_in_a_tag_is_hidden(session):
    """As everywhere else."""
    with audit.tagged("https://ann:hunter2@host/x"):
        assert "hunter2" not in said(session)[0]


@pytest.mark.parametrize("tag", ["", " ", 5, "x" * 2_001])
def test_no_tag(tag):
    """It is named, shortly."""
    with pytest.raises(ConfigInvalid, match="the query_tag of audit") as error, audit.tagged(tag):
        pass
    assert len(str(error.value)) < 200


def test_a_second_attach_asks_for_another_tag(session):
    """Which would be lost silently."""
    with pytest.raises(AttachError, match="query_tag = 'by default', not 'another'"):
        audit.attach(session, query_tag="another")
    assert audit.attach(session, query_tag="by default") is attached_sessions.find(session)


def test_the_logging_is_on_record(spark, tmp_path):
    """That it began, with its configuration; that it paused, for how long; and whose it was."""
    with attached(spark, tmp_path, **NO_TABLES, redact_pattern="a secret") as session:
        with audit.as_user(session, "bob"), audit.suppress(), audit.suppress():
            session.sql("SELECT 1").collect()
        found = events(session)
        known = attached_sessions.find(session)
        assert [row["query_type"] for row in found] == ["AUDIT_ATTACH", "AUDIT_SUPPRESS", "AUDIT_RESUME"]
        began, paused, resumed = found
        configuration = json.loads(began["query_text"])
        assert (began["user_name"], began["session_id"]) == ("ann", known.session_id)
        assert (configuration["retention_days"], configuration["redact_pattern"]) == (365, "given")
        assert {paused["user_name"], resumed["user_name"]} == {"bob"}
        assert resumed["total_elapsed_time"] > 0
        assert paused["start_time"] == resumed["start_time"]
        assert records(session) == []


@pytest.mark.long("tests/core compares configurations, and tests/spool writes them")
def test_another_configuration_is_on_record(spark, tmp_path):
    """What it was before, and what it is now; nothing where it is the same."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        assert [row["query_type"] for row in events(session)] == ["AUDIT_ATTACH"]
    with attached(spark, tmp_path, **NO_TABLES, retention_days=30, query_tag="x") as session:
        changed, began = events(session)
        assert (changed["query_type"], began["query_type"]) == ("AUDIT_CONFIGURE", "AUDIT_ATTACH")
        assert json.loads(changed["query_text"]) == {"retention_days": [365, 30]}
    with attached(spark, tmp_path, **NO_TABLES, retention_days=30, user="bob") as session:
        assert [row["query_type"] for row in events(session)] == ["AUDIT_ATTACH"]


def test_the_end_is_on_record(spark, tmp_path):
    """Of one session, and of those that end with their Spark."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        second = spark.newSession()
        audit.attach(second, root=str(tmp_path), user="eve", durable=False, **NO_TABLES)
        audit.detach(second)
        ended = events(session)[-1]
        assert (ended["query_type"], ended["user_name"], ended["action"]) == (
            "AUDIT_DETACH", "eve", "audit.detach",
        )  # fmt: skip
        spool = attached_sessions.find(session).recorder.spool.path
        attached_sessions.stopping(session)
        # The next attach of the process forgets what has ended.
        with attached(spark, tmp_path / "other", **NO_TABLES):
            pass
    (path,) = Layout(spool).sealed_segments()
    rows = [entry.payload["query"] for entry in read_segment(path).entries if entry.kind == "G"]
    assert (rows[-1]["query_type"], rows[-1]["action"]) == ("AUDIT_DETACH", "SparkSession.stop")


def test_no_pause_without_a_record(spark, tmp_path, monkeypatch):
    """A disk that takes nothing: the block does not run."""
    with attached(spark, tmp_path, **NO_TABLES) as session:
        spool = attached_sessions.find(session).recorder.spool

        def full(*_args):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(spool._journal, "append", full)
        with pytest.raises(audit.errors.AuditError, match="No space left"), audit.suppress():
            pytest.fail("the block has run")
        monkeypatch.undo()
