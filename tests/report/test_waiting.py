"""A report knows of what waits in the spools for an ingest."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path

from click.testing import CliRunner

from audit.cli import main
from audit.query.tables import opened
from audit.report.kinds.records import INTEGRITY
from audit.spool import waiting_events
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES, QUERY_HISTORY
from tests.query.roots import append

NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)
TIMES = ("start_time", "end_time")
FROM = ("--from", "2020-01-01")


def empty(folder):
    """A root on which nothing has happened yet."""
    for table in AUDIT_TABLES:
        append(folder, table, [])
    return str(folder)


def verified(root, *words):
    """The exit code of a verification."""
    return CliRunner().invoke(main, ["verify", "--root", root, *words], catch_exceptions=False).exit_code


def report(root):
    """What a report says on its cover about verifications; stderr."""
    words = ["report", "access", "--json", "--root", root, *FROM]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    findings = [one["text"] for one in json.loads(done.stdout)["findings"]]
    return next(one for one in findings if "verif" in one), done.stderr


def test_a_verification_counts_at_once(tmp_path):
    """The newest one, wherever it stands; nothing counts twice while an ingest is at work."""
    root = empty(tmp_path)
    assert report(root)[0].startswith("No verification is on record")
    assert verified(root) == 0
    said = report(root)[0]
    assert said.startswith("Records were verified 1 time since the period began")
    assert said.endswith("without a fault.")
    # An ingest has written the event, and its segment is still there.
    (event,) = (one for one in waiting_events(Path(root)) if one["query_type"] == "AUDIT_VERIFY")
    times = {name: datetime.fromisoformat(event[name].replace("Z", "+00:00")) for name in TIMES}
    append(root, QUERY_HISTORY, [{**event, **times}])
    assert report(root)[0] == said
    append(root, ACCESS_HISTORY, [{"query_id": "q", "query_start_time": NOON}])
    assert verified(root) == 1
    assert report(root)[0].endswith("with 2 faults.")


def test_the_figure_is_what_its_query_gives(tmp_path):
    """`audit query` knows of the event, too; the table itself is as the last ingest has left it."""
    root = empty(tmp_path)
    assert verified(root) == 0
    words = ["query", INTEGRITY.sql, "--json", "--root", root]
    days = ["--param", 'from_day="2020-01-01"', "--param", 'to_day="2020-01-02"']
    (row,) = json.loads(CliRunner().invoke(main, [*words, *days], catch_exceptions=False).stdout)
    assert (row["verifications"], row["faults_of_the_last"]) == (1, 0)
    with opened(root, waiting=waiting_events(Path(root))) as tables:
        kinds = tables.ask(
            "SELECT event_type FROM account_usage.logging_history ORDER BY event_time", {}
        ).rows
        (counted,) = tables.ask("SELECT count(*) FROM account_usage.query_history", {}).rows
    assert (kinds, counted) == ([("AUDIT_VERIFY",), ("AUDIT_QUERY",)], (0,))


def test_spools_that_cannot_be_read(tmp_path):
    """A line says so, and the report is there."""
    root = empty(tmp_path)
    assert verified(root) == 0
    (segment,) = Path(root).glob("spool/*/sealed/*")
    segment.unlink()
    segment.mkdir()
    said, lines = report(root)
    assert said.startswith("No verification is on record")
    assert lines.startswith("what waits in the spools is left out: [AUDIT_SPOOL_UNAVAILABLE] the spool")


def test_the_spools_of_another_root_are_not_read(tmp_path, monkeypatch):
    """A folder of spools is of one root: what waits there comes into no other."""
    monkeypatch.setenv("AUDIT_SPOOL_DIR", str(tmp_path / "spools"))
    one, other = (empty(tmp_path / name) for name in ("one", "other"))
    assert verified(one) == 0
    assert report(one)[0].startswith("Records were verified 1 time")
    said, lines = report(other)
    assert said.startswith("No verification is on record")
    assert "which holds what" in lines
