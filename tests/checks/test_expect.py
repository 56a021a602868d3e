"""`audit.expect`: what a user sees is validated, recorded beside the statement that wrote it, and marked."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

import audit
from audit import attached_sessions, expect_api
from audit.checks.engine import great_expectations
from audit.checks.errors import SuiteInvalid
from audit.cli import main
from audit.core.errors import AttachError, TableUnknown
from audit.query.tables import opened
from audit.store.views import description

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def rules():
    """A suite: an amount is there and not negative, a table has rows."""
    gx = great_expectations()
    rules = gx.expectations
    return gx.ExpectationSuite(
        name="orders",
        expectations=[
            rules.ExpectColumnValuesToNotBeNull(column="amount", description="An order has an amount."),
            rules.ExpectColumnMinToBeBetween(column="amount", min_value=0),
            rules.ExpectTableRowCountToBeBetween(min_value=1, meta={"name": "has_rows"}),
        ],
    )


@pytest.fixture(scope="module")
def orders(session):
    """Orders of two regions, one without an amount, and a table made of them."""
    session.sql("CREATE SCHEMA dq")
    session.sql("CREATE TABLE dq.orders (region STRING, amount INT)")
    session.sql("INSERT INTO dq.orders VALUES ('north', 1), ('south', NULL)")
    session.sql("CREATE TABLE dq.sums AS SELECT region, sum(amount) AS total FROM dq.orders GROUP BY region")
    yield "dq.orders"
    session.sql("DROP SCHEMA dq CASCADE")


@pytest.fixture(scope="module")
def validated(session, orders, rules):
    """The first validation, by ann, who sees everything."""
    return audit.expect(session, orders, rules)


def ask(session, text):
    """Rows as tuples; what reads the audit tables is on record as any other statement."""
    return [tuple(row) for row in session.sql(text).collect()]


def root_of(session):
    """The root of an audited session."""
    return attached_sessions.find(session).services.config.root


def test_what_it_finds(session, validated):
    """One expectation fails; the version that was validated, and the statement that wrote it."""
    assert [(one.name, one.verdict) for one in validated.outcomes] == [
        ("expect_column_values_to_not_be_null amount", "FAILED"),
        ("expect_column_min_to_be_between amount", "PASSED"),
        ("has_rows", "PASSED"),
    ]
    assert (validated.success, validated.validated.version, validated.user_name) == (False, 1, "ann")
    audit.flush(session)
    wrote = ask(session, "SELECT query_id FROM account_usage.query_history WHERE query_type = 'INSERT'")
    assert wrote == [(validated.validated.query_id,)]


def test_what_is_on_record(session, validated):
    """A row for each expectation, with counts and no values; the view has the statement, in DuckDB too."""
    text = (
        "SELECT expectation_type, outcome, unexpected_count, object_version, written_by_query_type,"
        " written_by_user, is_newest FROM account_usage.data_quality"
        f" WHERE run_id = '{validated.run_id}' ORDER BY 1"
    )
    found = ask(session, text)
    assert found == [
        ("expect_column_min_to_be_between", "PASSED", None, 1, "INSERT", "ann", True),
        ("expect_column_values_to_not_be_null", "FAILED", 1, 1, "INSERT", "ann", True),
        ("expect_table_row_count_to_be_between", "PASSED", None, 1, "INSERT", "ann", True),
    ]
    with opened(root_of(session)) as tables:
        assert [*tables.ask(text, {}).rows] == found
        for text in (description("data_quality").example, "DESCRIBE account_usage.data_quality"):
            asked = [tuple(row) for row in session.sql(text).collect()]
            assert [*tables.ask(text, {}).rows] == asked
            assert asked


def test_its_reads_are_statements(session, validated, orders):
    """They read the table, by ann; what the audit writes is not on record."""
    audit.flush(session)
    began = f"{validated.run_time:%Y-%m-%dT%H:%M:%S.%f}Z"
    read = ask(
        session,
        "SELECT user_name, count(*) > 0 FROM account_usage.objects_read"
        f" WHERE object_name = 'spark_catalog.dq.orders' AND query_start_time >= TIMESTAMP'{began}'"
        " GROUP BY user_name",
    )
    assert read == [("ann", True)]
    assert ask(
        session,
        "SELECT count(*) FROM account_usage.query_history"
        " WHERE query_text LIKE '%data_quality_results%' AND query_type <> 'SELECT'",
    ) == [(0,)]


def test_the_lineage_marks_it(session, validated):
    """Downstream of the failing column: in text, JSON and picture; in a shell as well."""
    graph = audit.lineage(session, "dq.orders.amount", "downstream", failed_checks=True)
    assert [(node.column_name, node.failed_checks) for node in graph.nodes] == [
        ("amount", ("expect_column_values_to_not_be_null amount",)), ("total", ()),
    ]  # fmt: skip
    assert str(graph).startswith(
        "spark_catalog.dq.orders.amount (✗ failed: expect_column_values_to_not_be_null amount)"
    )
    assert json.loads(graph.to_json())["nodes"][0]["failed_checks"] == list(graph.nodes[0].failed_checks)
    assert "failed: expect_column_values_to_not_be_null amount" in graph.to_svg()
    up = audit.lineage(session, "dq.sums.total", failed_checks=True)
    assert "orders.amount (✗ failed: expect_column_values_to_not_be_null amount)  [" in str(up)
    assert up.by_table().nodes[1].failed_checks == graph.nodes[0].failed_checks
    assert "✗" not in str(audit.lineage(session, "dq.sums.total"))
    words = ["lineage", "dq.sums.total", "--failed-checks", "--root", root_of(session)]
    done = CliRunner().invoke(main, words, catch_exceptions=False)
    assert done.stdout.rstrip("\n") == str(up)


def test_a_user_validates_what_he_sees(session, validated, orders, rules):
    """Behind a row access policy bob has no order without an amount; his answer is the newest one."""
    session.sql(
        "CREATE ROW ACCESS POLICY dq.north AS (r STRING) RETURNS BOOLEAN ->"
        " current_user() = 'ann' OR r = 'north'"
    )
    session.sql("ALTER TABLE dq.orders ADD ROW ACCESS POLICY dq.north ON (region)")
    with audit.as_user(session, "bob"):
        bobs = audit.expect(session, orders, rules)
    assert ([str(one.error) for one in bobs.failed], bobs.user_name) == ([], "bob")
    assert not audit.expect(session, orders, rules).success
    session.sql("ALTER TABLE dq.orders DROP ROW ACCESS POLICY dq.north")


def test_a_write_meanwhile(session, orders, monkeypatch):
    """What is validated is one version, that before the write; who may not read the past is told so."""
    gx = great_expectations()
    session.sql("CREATE TABLE dq.busy AS SELECT 1 AS n")
    suite = gx.ExpectationSuite(
        name="busy", expectations=[gx.expectations.ExpectTableRowCountToEqual(value=1)]
    )
    run = expect_api.run_suite

    def after_a_write(*arguments, **options):
        with audit.as_user(session, "ann"):
            session.sql("INSERT INTO dq.busy VALUES (2)")
        return run(*arguments, **options)

    monkeypatch.setattr(expect_api, "run_suite", after_a_write)
    found = audit.expect(session, "dq.busy", suite)
    assert (found.success, found.validated.version) == (True, 0)
    session.sql("CREATE ROW ACCESS POLICY dq.some AS (m INT) RETURNS BOOLEAN -> m = 1")
    session.sql("ALTER TABLE dq.busy ADD ROW ACCESS POLICY dq.some ON (n)")
    with audit.as_user(session, "bob"):
        (outcome,) = audit.expect(session, "dq.busy", suite).outcomes
    assert (outcome.verdict, "ACCESS_DENIED" in outcome.error) == ("ERROR", True)


@pytest.mark.long("test_the_lineage_marks_it has the mark")
def test_a_new_version(session, validated, orders, rules):
    """What is mended is marked no longer; as of a moment before it still is."""
    before = ask(session, "SELECT date_format(current_timestamp(), \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\")")[0][0]
    session.sql("DELETE FROM dq.orders WHERE amount IS NULL")
    again = audit.expect(session, orders, rules)
    assert (again.success, again.validated.version) == (True, 2)
    graph = audit.lineage(session, "dq.sums.total", failed_checks=True)
    assert [node.failed_checks for node in graph.nodes] == [(), ()]
    past = audit.lineage(session, "dq.sums.total", failed_checks=True, as_of=before)
    assert any(node.failed_checks for node in past.nodes)


def test_a_view_and_an_expectation_that_cannot_be_asked(session, orders):
    """A view has no version; a column that is not there is an ERROR, and says so."""
    gx = great_expectations()
    session.sql("CREATE VIEW dq.seen AS SELECT amount FROM dq.orders")
    suite = gx.ExpectationSuite(
        name="views", expectations=[gx.expectations.ExpectColumnValuesToNotBeNull(column="price")]
    )
    found = audit.expect(session, "dq.seen", suite)
    ((outcome,), validated) = found.outcomes, found.validated
    assert (outcome.verdict, validated.version, validated.query_id, validated.domain) == (
        "ERROR", None, None, "VIEW",
    )  # fmt: skip
    assert "price" in outcome.error


def test_bad_input(session, spark, orders, rules):
    """What is wrong is named, and nothing is recorded."""
    with pytest.raises(TableUnknown, match=r"no table or view 'dq\.nothing'"):
        audit.expect(session, "dq.nothing", rules)
    with pytest.raises(SuiteInvalid, match="a dict is no suite"):
        audit.expect(session, orders, {})
    with pytest.raises(AttachError, match="not audited"):
        audit.expect(spark, orders, rules)
