"""What the figures say of a month that is known."""

from __future__ import annotations

import re
from datetime import timezone

import pytest

from audit.policies.model.events import GovernanceEvent
from audit.query.tables import opened
from audit.report.answers import cover
from audit.report.findings import findings
from audit.report.kinds import KINDS
from audit.report.kinds.records import RECORDS
from audit.report.names import Pseudonyms
from tests.query.roots import add_governance, make_root

from .conftest import made
from .roots import CSV, HOSTILE, OUT, PEOPLE, REPORT, moment, story_root

FIGURES = {figure.name: figure for kind in KINDS.values() for figure in (*RECORDS.figures, *kind.figures)}


def rows(report, name, *columns):
    """Some columns of a figure."""
    figure = report.figure(name)
    at = [figure.columns.index(column) for column in columns]
    return [tuple(row[one] for one in at) for row in figure.rows]


def test_the_cover(report):
    """All that the cover counts, of the period alone; a gap and events of the logging are no statements."""
    on_record, coverage, integrity, deleted = cover(report("access"))
    assert dict(zip(on_record.columns, on_record.rows[0][:7], strict=False)) == {
        "statements": 16, "succeeded": 13, "failed": 1, "denied": 1, "incomplete": 1, "running": 0,
        "users": 3,
    }  # fmt: skip
    assert coverage.rows == ((84.6, 13, 11, 0, 1, 1, 0),)
    assert (integrity.value("gaps"), integrity.value("pauses")) == (1, 1)
    assert (integrity.value("verifications"), integrity.value("of_whole_period")) == (1, 1)
    assert integrity.value("faults_of_the_last") == 0
    assert deleted.rows == ((1, 2, 40, 0, "2025-11-20"),)


def test_the_findings(report):
    """Each says whether there is something to look at."""
    found = {one.text: one.state for one in findings(report("access"))}
    assert found["1 gap: statements may have run without a record."] == "bad"
    assert found["1 statement without an end: the driver died."] == "open"
    in_full = "84.6 % of the statements that succeeded were analysed in full"
    assert found[f"{in_full}; 2 statements must be looked at by hand."] == "open"
    [verified] = [state for text, state in found.items() if text.startswith("Records were verified 1 time")]
    assert verified == "good"
    assert found["Retention has deleted 40 rows, none of this period."] == "good"


def test_access(report):
    """Who read what, at which hour; what was written to files."""
    access = report("access")
    assert rows(access, "top_readers", "user_name", "reads") == [("ann", 4), ("bob", 2), (HOSTILE, 1)]
    assert ("ann", 9, 1) in access.figure("readers_by_hour").rows
    who = rows(access, "who_read_what", "user_name", "object_name", "reads", "columns")
    assert who[:2] == [("ann", PEOPLE, 3, "ssn"), ("bob", PEOPLE, 2, "ssn")]
    assert rows(access, "written_to_files", "user_name", "written_to", "sources") == [("ann", OUT, PEOPLE)]
    assert len(access.figure("failed_and_denied").rows) == 2
    assert ("case 4711 of bob", "ann", 1) in rows(access, "purposes", "purpose", "user_name", "reads")


def test_sensitive_data(report):
    """Who saw what a mask hides, and who read it before there was one."""
    sensitive = report("sensitive-data")
    readers = rows(sensitive, "protected_data_readers", "user_name", "column_name", "reads", "shown_all")
    assert readers == [("ann", "ssn", 2, 2), ("bob", "ssn", 1, 0)]
    assert rows(sensitive, "policies_hit", "outcome", "reads") == [
        ("may have hidden values", 1),
        ("showed all", 2),
    ]
    unprotected = rows(
        sensitive, "read_without_its_policy", "user_name", "object_name", "column_name", "reads"
    )
    assert unprotected == [("ann", PEOPLE, "ssn", 1), ("bob", PEOPLE, "ssn", 1)]
    copied = rows(sensitive, "protected_data_copied", "written_to", "into_column")
    assert copied == [(OUT, "ssn"), (REPORT, "ssn")]
    assert rows(sensitive, "protection_changes", "object_domain") == [("MASKING POLICY",)]


def test_changes(report):
    """What was written, by which version; what was deleted; what failed."""
    changes = report("changes")
    assert ("ann", PEOPLE, 1, 3) in rows(
        changes, "data_changes", "user_name", "object_name", "version", "rows"
    )
    assert rows(changes, "deletions", "user_name", "query_type", "rows") == [("ann", "DELETE", 2)]
    assert rows(changes, "changes_refused", "user_name", "query_type") == [("bob", "UPDATE")]
    assert {row[1] for row in changes.figure("changes_over_time").rows} == {
        "definition",
        "deleted",
        "written",
    }


def test_privileges(report):
    """Who gave what to whom; which settings were in force."""
    privileges = report("privileges")
    granted = rows(privileges, "privilege_changes", "user_name", "privileges", "object_name", "grantee_user")
    assert granted == [("ann", "SELECT", PEOPLE, "bob")]
    assert rows(privileges, "configurations", "admins", "retention_days") == [("ann", "365")]
    assert {kind for (kind,) in rows(privileges, "logging_events", "event_type")} == {
        "AUDIT_ATTACH", "AUDIT_SUPPRESS", "AUDIT_RESUME", "AUDIT_RETAIN", "AUDIT_QUERY", "AUDIT_REPORT",
        "GAP",
    }  # fmt: skip
    assert rows(privileges, "audit_tables_read", "user_name", "details") == [
        ("ann", 'subject ["p.people"]'), ("ann", "SELECT 1"), ("ann", "who_read_column"),
    ]  # fmt: skip
    assert ("bob", True, 7) in rows(privileges, "users", "user_name", "is_new", "statements")


def test_rights_at_the_end_of_the_period(tmp_path):
    """Those that a GRANT gave before its end, and no REVOKE took away before; a later one changes nothing."""
    root = story_root(tmp_path / "root")
    to_bob = {"to": "USER", "grantee": "bob", "as_whom": ["ROLE", "ACCOUNTADMIN"], "option": False}
    read = {
        **to_bob, "to": "ROLE", "grantee": "READERS", "domain": "Table", "privileges": ["SELECT"],
        "option_alone": False,
    }  # fmt: skip
    write = {**read, "privileges": ["INSERT"]}
    add_governance(root, [
        GovernanceEvent(micros(1), "CREATE_ROLE", "r", name="READERS"),
        GovernanceEvent(micros(2), "GRANT_ROLE", "g", "r", name="READERS", details=to_bob),
        GovernanceEvent(micros(3), "GRANT_PRIVILEGES", "h", None, "delta:x", "p.people", details=read),
        GovernanceEvent(micros(3), "GRANT_PRIVILEGES", "i", None, "delta:x", "p.people", details=write),
        GovernanceEvent(micros(5), "REVOKE_PRIVILEGES", "j", None, "delta:x", "p.people", details=write),
        GovernanceEvent(micros(31), "REVOKE_PRIVILEGES", "k", None, "delta:x", "p.people", details=read),
    ])  # fmt: skip
    with opened(root) as tables:
        privileges = made(tables, "privileges")
        hidden = made(tables, "privileges", names=Pseudonyms.of(tables, b"key", ["bob"]))
    held = ("grantee_role", "grantee_user", "privilege", "held_since")
    assert rows(privileges, "privileges_held", *held) == [("READERS", None, "SELECT", moment(3))]
    assert rows(privileges, "roles_held", "grantee_user", "role_name") == [("bob", "READERS")]
    ((user,),) = rows(hidden, "roles_held", "grantee_user")
    assert user.startswith("user-")


def micros(day):
    """Noon of a day of the month, UTC microseconds."""
    return int(moment(day).replace(tzinfo=timezone.utc).timestamp()) * 1_000_000


def test_lineage(report):
    """What was made of what."""
    lineage = report("lineage")
    flow = rows(lineage, "flow", "source_object_name", "target_object_name")
    assert sorted(flow) == [(CSV, PEOPLE), (PEOPLE, OUT), (PEOPLE, REPORT)]
    assert rows(lineage, "loaded_from_files", "target_object_name") == [(PEOPLE,)]


def test_retention(report):
    """How far back the records go; days without one; what the bytes are kept for."""
    retention = report("retention")
    kept = rows(retention, "records_kept", "table_name", "days", "rows")
    assert kept == [("access_history", 10, 13), ("query_history", 20, 25)]
    without = rows(retention, "days_without_a_statement", "first_day", "last_day", "days")
    # What was done to the logging, asked of it or lost is no statement.
    assert [(first.day, last.day, days) for first, last, days in without] == [(1, 1, 1), (14, 30, 17)]
    assert rows(retention, "storage_by_state", "table_name", "state", "mib", "in_all") == [
        ("p.people", "1 newest version", 40, 55), ("p.people", "2 Time Travel", 10, 55),
        ("p.people", "3 Fail-safe", 5, 55), ("p.report", "1 newest version", 8, 14),
        ("p.report", "4 for clones", 4, 14), ("p.report", "5 purgeable", 2, 14),
    ]  # fmt: skip


def test_storage_that_was_not_measured(tmp_path):
    """It is said; the rest of the report is there."""
    with opened(make_root(tmp_path, {})) as tables:
        retention = made(tables, "retention")
    assert not retention.figure("storage_by_state").is_there
    assert retention.figure("records_kept").is_there


def test_a_user(report):
    """Of bob alone."""
    user = report("user")
    assert (user.title, user.about) == ("What bob did", "bob")
    assert user.figure("user_summary").rows[0][:6] == (7, 2, 0, 0, 1, 1)
    assert rows(user, "user_was_granted", "user_name", "privileges") == [("ann", "SELECT")]


def test_an_object(report):
    """Of the people alone; what is refused is known by the names in the text."""
    people = report("object")
    assert people.about == PEOPLE
    assert people.figure("object_summary").rows[0][:2] == (6, 3)
    assert rows(people, "object_changes", "version") == [(1,)]
    assert len(people.figure("object_flow").rows) == 3
    refused = report("object", name=REPORT).figure("object_refused")
    assert [row[1] for row in refused.rows] == ["bob"]


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_each_figure_is_whole(figure):
    """A question that ends so, one query without a comment, an order of its rows, lines that fit a page."""
    assert figure.question.rstrip(".").partition("?")[1] == "?"
    assert "--" not in figure.sql
    assert ";" not in figure.sql
    assert "ORDER BY" in figure.sql or not re.search(r"GROUP BY|FROM account_usage\.tables", figure.sql)
    assert max(map(len, figure.sql.splitlines())) <= 125


def test_names_are_given_once():
    """No two figures share a name."""
    every = [figure for kind in KINDS.values() for figure in kind.figures]
    assert len({id(one) for one in every}) == len({one.name for one in every})
