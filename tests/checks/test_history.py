"""The expectations of the audit tables: a clean history holds, and each kind of damage fails one of them."""

from __future__ import annotations

import json
import shutil
import socket
from datetime import date
from ipaddress import ip_address

import pytest
from click.testing import CliRunner

from audit.checks import check_history, suite
from audit.checks.engine import great_expectations
from audit.checks.errors import PeriodInvalid, SuiteInvalid
from audit.checks.expectations import checks
from audit.cli import main
from audit.core.clock import ManualClock
from audit.core.errors import TableMissingError
from audit.spark.sessions import own_session
from audit.store.tables import AUDIT_TABLES

from .history import DAYS, FAILS, NOW, READ, READS_A_DAY, VIEW, WRITE, make_history, rewrite, sql

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(spark):
    """The audit's own session beside the one of the test process."""
    return own_session(spark)


@pytest.fixture(scope="module")
def clean(spark, tmp_path_factory):
    """A root whose history is as it should be, and its query ids."""
    root = tmp_path_factory.mktemp("clean")
    return root, make_history(spark, root)


@pytest.fixture
def damaged(clean, tmp_path):
    """A copy of it, to be damaged; and its query ids."""
    root, ids = clean
    for table in AUDIT_TABLES:
        shutil.copytree(root / table.name, tmp_path / table.name)
    return tmp_path, ids


def checked(spark, root, *days, **options):
    """The result of a check on the last day of the history."""
    return check_history(spark, str(root), *days, clock=ManualClock(NOW), **options)


def on(query_id):
    """A condition."""
    return f"WHERE query_id = '{query_id}'"


def altered(day, text, change):
    """A damage: the record of a statement is another, with the hash of what it is now."""

    def damage(spark, root, ids):
        rewrite(spark, root, ids[day, text], change)
        return [ids[day, text]]

    return damage


def by_hand(day, text, *statements):
    """A damage: statements about the row of a query id."""

    def damage(spark, root, ids):
        for statement in statements:
            sql(spark, root, f"{statement} {on(ids[day, text])}")
        return [ids[day, text]]

    return damage


def _set(key, value):
    return lambda row: row.update({key: value})


def _rename_column(row):
    row["direct_objects_accessed"][0]["columns"][0]["columnName"] = "z"


def _few_are_full(spark, root, ids):
    found = [ids[day, READ] for day in DAYS]
    for query_id in found:
        rewrite(spark, root, query_id, _set("analysis", "partial"))
    return found


def _a_day_is_gone(spark, root, _ids):
    for table in AUDIT_TABLES:
        sql(spark, root, f"DELETE FROM {table.name} WHERE query_date = DATE'2025-12-30'")
    return ["2025-12-30"]


def _kept_too_long(_spark, root, _ids):
    (root / "audit.toml").write_text("retention_days = 1")
    return ["2025-12-29"]


DAMAGES = {
    "query_ids_are_unique": by_hand(0, READ, "INSERT INTO query_history SELECT * FROM query_history"),
    "records_are_unique": by_hand(0, READ, "INSERT INTO access_history SELECT * FROM access_history"),
    "times_are_ordered": by_hand(
        -1, READ, "UPDATE query_history SET end_time = start_time - INTERVAL 1 SECOND"
    ),
    "times_are_past": by_hand(
        0, FAILS, "UPDATE query_history SET end_time = TIMESTAMP'2026-01-01T15:06:00Z'"
    ),
    "records_have_statements": by_hand(0, READ, "DELETE FROM query_history"),
    "successes_have_records": by_hand(-2, READ, "DELETE FROM access_history"),
    "execution_status_is_known": by_hand(0, FAILS, "UPDATE query_history SET execution_status = 'DONE'"),
    "analysis_is_known": altered(0, READ, _set("analysis", "complete")),
    "captured_by_is_known": altered(0, READ, _set("captured_by", "chance")),
    "operation_type_is_known": altered(
        0, VIEW, lambda row: row["object_modified_by_ddl"].update(operationType="MELT")
    ),
    "object_domain_is_known": altered(
        0, READ, lambda row: row["base_objects_accessed"][0].update(objectDomain="TABEL")
    ),
    "column_ids_have_one_name": altered(-1, READ, _rename_column),
    "record_hashes_match": by_hand(0, READ, "UPDATE access_history SET user_name = 'eve'"),
    "edges_have_both_ends": by_hand(-1, WRITE, "UPDATE column_lineage SET source_object_name = 'c.s.other'"),
    "no_day_is_missing": _a_day_is_gone,
    "retention_is_kept": _kept_too_long,
    "coverage_is_high": _few_are_full,
}  # fmt: skip
"""A damage for each expectation; each gives the query ids, or the days, that are to be named."""
TOGETHER = (
    (
        "query_ids_are_unique", "times_are_ordered", "successes_have_records", "times_are_past",
        "operation_type_is_known", "edges_have_both_ends",
    ),
    ("records_are_unique", "execution_status_is_known", "column_ids_have_one_name"),
    ("records_have_statements", "no_day_is_missing"),
    # The hash comes last: the others write that of what the record is then.
    ("analysis_is_known", "captured_by_is_known", "object_domain_is_known", "record_hashes_match"),
    ("retention_is_kept", "coverage_is_high"),
)  # fmt: skip
"""Damages of different rows, or that leave each other alone."""
MORE = {
    "a record of another time": (
        "times_are_ordered",
        altered(0, READ, lambda row: row.update(query_start_time=row["query_start_time"].replace(minute=5))),
    ),
    "an edge into another table": (
        "edges_have_both_ends", by_hand(0, WRITE, "UPDATE column_lineage SET target_object_id = 7"),
    ),
    "an edge of another column": (
        "edges_have_both_ends", by_hand(0, WRITE, "UPDATE column_lineage SET source_column_id = 7"),
    ),
    "an edge without a record": (
        "edges_have_both_ends", by_hand(0, FAILS, "INSERT INTO column_lineage BY NAME SELECT query_id,"
        " start_time AS query_start_time, 'a' AS source_object_name, 'b' AS target_object_name"
        " FROM query_history"),
    ),
    "an edge of a view into another one": (
        "edges_have_both_ends", by_hand(0, VIEW, "UPDATE column_lineage SET target_object_name = 'c.s.v2'"),
    ),
}  # fmt: skip
"""Further damages, and the expectation that each of them fails."""


def test_each_expectation_has_a_damage():
    """A new expectation is shown to fail."""
    assert {one.name for one in checks()} == {*DAMAGES}
    assert sorted(sum(TOGETHER, ())) == sorted(DAMAGES)


@pytest.mark.slow("the first check of a process: Spark compiles each query of it")
def test_a_clean_history(spark, clean):
    """Everything holds, of all days and of some; what is counted is what is there."""
    root, _ = clean
    result = checked(spark, root)
    assert [(one.name, one.error, one.findings) for one in result.failed] == []
    days = len(DAYS)
    assert (result.totals["statements"], result.totals["failures"]) == ((READS_A_DAY + 4) * days, days)
    assert result.totals["records"] == result.totals["full_records"] == (READS_A_DAY + 3) * days
    assert (result.first, result.last) == (date(2025, 12, 29), date(2026, 1, 1))
    some = checked(spark, root, date(2025, 12, 30), date(2025, 12, 31))
    assert (some.success, some.totals["statements"]) == (True, (READS_A_DAY + 4) * 2)


def test_nothing_stays_in_memory_and_nothing_leaves(spark, clean, monkeypatch):
    """No frame is cached when a check is over, and no program elsewhere is told of it."""
    asked, connect = [], socket.socket.connect

    def noted(self, address):
        asked.append(address)
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    cached = spark._jsparkSession.sharedState().cacheManager()
    cached.clearCache()
    assert checked(spark, clean[0]).success
    assert cached.isEmpty()
    # Only to Spark itself.
    assert [address for address in asked if not ip_address(address[0]).is_loopback] == []


def finds(failed, wrong):
    """Whether an outcome names what is wrong."""
    named = {*failed.query_ids} or {str(row["query_date"]) for row in failed.findings}
    return failed.verdict == "FAILED" and {*wrong} <= named


@pytest.mark.parametrize("names", TOGETHER, ids="+".join)
def test_damages_fail_their_expectations(spark, damaged, names):
    """Several damages at once: each is named, with its query ids or days; the others hold."""
    root, ids = damaged
    wrong = {name: DAMAGES[name](spark, root, ids) for name in names}
    failed = {one.name: one for one in checked(spark, root).failed}
    assert {*failed} == {*names}
    assert [name for name in names if not finds(failed[name], wrong[name])] == []


@pytest.mark.long("one damage at a time; the test before has several at once")
@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_fails_its_expectation_alone(spark, damaged, name):
    """It is named, with the query ids or the days; the others hold."""
    root, ids = damaged
    wrong = DAMAGES[name](spark, root, ids)
    (failed,) = checked(spark, root).failed
    assert failed.name == name
    assert finds(failed, wrong)


@pytest.mark.long("more of the damages that the test above does")
@pytest.mark.parametrize("what", MORE)
def test_further_damages(spark, damaged, what):
    """The same for other ways to damage what an expectation looks at."""
    root, ids = damaged
    name, damage = MORE[what]
    wrong = damage(spark, root, ids)
    (failed,) = checked(spark, root).failed
    assert (failed.name, failed.query_ids) == (name, tuple(wrong))


@pytest.mark.long("how many of its offenders an expectation names")
def test_twenty_are_named(spark, damaged):
    """Of more offenders the number is told, and the first twenty by their ids."""
    root, ids = damaged
    sql(spark, root, f"UPDATE access_history SET user_name = 'eve' WHERE query_id <> '{ids[0, READ]}'")
    (failed,) = checked(spark, root).failed
    assert (failed.name, failed.offenders) == ("record_hashes_match", (READS_A_DAY + 3) * len(DAYS) - 1)
    assert len(failed.query_ids) == 20


@pytest.mark.long("one exception to one expectation")
def test_a_column_that_ddl_has_renamed(spark, damaged):
    """Two names of an id are none too many where DDL has changed the object on that day."""
    root, ids = damaged
    rewrite(spark, root, ids[-1, READ], _rename_column)

    def to_rename(row):
        of = row["direct_objects_accessed"][0]
        row["object_modified_by_ddl"] = {
            "objectDomain": "Table", "objectId": of["objectId"], "objectName": of["objectName"],
            "operationType": "ALTER", "properties": "{}",
        }  # fmt: skip

    rewrite(spark, root, ids[-1, READ], lambda row: (_rename_column(row), to_rename(row)))
    assert checked(spark, root).failed == ()


def test_a_suite_of_ones_own(spark, clean):
    """Expectations of Great Expectations over the counts of the days stand beside ours."""
    gx = great_expectations()
    own = suite()
    own.add_expectation(
        gx.expectations.ExpectColumnValuesToBeBetween(
            column="statements", min_value=13, description="A day has thirteen statements."
        )
    )
    own.add_expectation(gx.expectations.ExpectColumnValuesToBeBetween(column="denials", max_value=0))
    own.add_expectation(gx.expectations.ExpectColumnToExist(column="nowhere"))
    result = checked(spark, clean[0], suite=own)
    assert len(result.outcomes) == len(checks()) + 3
    assert [(one.name, one.offenders) for one in result.failed] == [
        ("expect_column_values_to_be_between statements", len(DAYS)),
        ("expect_column_to_exist nowhere", 0),
    ]
    assert len(own.expectations) == len(checks()) + 3  # a run leaves the suite as it is


def test_bad_input(spark, clean, tmp_path):
    """What is wrong is named."""
    with pytest.raises(PeriodInvalid, match="ends on 2025-12-30, before it begins on 2025-12-31"):
        checked(spark, clean[0], date(2025, 12, 31), date(2025, 12, 30))
    with pytest.raises(SuiteInvalid, match="a str is no suite"):
        checked(spark, clean[0], suite="audit_tables")
    with pytest.raises(SuiteInvalid, match="has no expectation"):
        checked(spark, clean[0], suite=great_expectations().ExpectationSuite("empty"))
    with pytest.raises(TableMissingError, match="access_history"):
        checked(spark, tmp_path)


def run(root, *words):
    """Exit code, stdout, stderr of `audit check`."""
    done = CliRunner().invoke(main, ["check", *words, "--root", str(root)], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_command(spark, damaged):
    """Exit codes 0, 1 and 2; three forms; that the tables were checked is on record."""
    root, ids = damaged
    days = ("--from", "2025-12-29", "--to", "2026-01-01")
    # What ran in 2026-01 is past; kept for 365 days it is too old by now.
    (root / "audit.toml").write_text("retention_days = 36500")
    code, said, _ = run(root, *days)
    assert (code, "All 17 expectations hold: 48 statements, 44 records" in said) == (0, True), said
    sql(spark, root, f"UPDATE access_history SET user_name = 'eve' {on(ids[0, READ])}")
    code, said, _ = run(root, *days, "--json")
    told = json.loads(said)
    assert (code, told["success"], told["statistics"]["unsuccessful_validations"]) == (1, False, 1)
    (validated,) = told["validation_results"]
    assert [one["query_ids"] for one in validated["expectations"] if not one["success"]] == [[ids[0, READ]]]
    assert len({tuple(one) for one in validated["expectations"]}) == 1
    code, said, progress = run(root, *days, "-o", str(root / "page.html"))
    assert (code, said, str(root / "page.html") in progress) == (1, "", True)
    assert ids[0, READ] in (root / "page.html").read_text()
    noted = [line for path in root.glob("spool/*/sealed/*") for line in path.read_text().splitlines()]
    assert len([line for line in noted if "AUDIT_CHECK" in line]) == 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "2026-01-02", "--to", "2026-01-01"], "AUDIT_PERIOD_INVALID"),
        (["--from", "soon"], "does not match the format"),
        (["--min-coverage", "101"], "is not in the range"),
        (["-o", "/nowhere/page.html"], "AUDIT_CHECK_UNWRITABLE"),
        (["-o", "page.pdf"], "give --format json or html"),
        (["--json", "--format", "html"], "two forms"),
    ],
)
def test_the_command_asked_wrongly(clean, words, said):
    """A line on stderr, exit code 2."""
    code, answer, error = run(clean[0], *words)
    assert (code, answer) == (2, "")
    assert said in error


def test_the_command_without_tables(tmp_path):
    """The missing table is named; exit code 2."""
    (tmp_path / "spool").mkdir()
    code, _, error = run(tmp_path)
    assert (code, "AUDIT_TABLE_MISSING" in error) == (2, True)
