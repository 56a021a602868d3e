import pytest

import audit
import views
from audit.query.tables import TIMES

SCHEMA = "views_usage"

pytestmark = pytest.mark.spark

THERE = tuple(name for name in views.VIEWS if name != "data_quality")
"""Without what only `audit.expect` makes: tests/checks/test_expect.py asks it."""


@pytest.fixture(scope="module")
def audited(spark, tmp_path_factory):
    """A session with the views, after a few statements."""
    root = str(tmp_path_factory.mktemp("views_root"))
    audit.attach(spark, user="ann", root=root, schema=SCHEMA, ingest_interval_seconds=3600)
    spark.sql("CREATE SCHEMA vw")
    spark.sql("CREATE TABLE vw.t (a INT, b STRING) USING delta")
    spark.sql("INSERT INTO vw.t VALUES (1, 'x')")
    spark.sql("CREATE VIEW vw.v AS SELECT a + 1 AS c FROM vw.t")
    spark.sql("CREATE TABLE vw.u USING delta AS SELECT c, 7 AS k FROM vw.v")
    spark.table("vw.t").count()
    spark.sql("DELETE FROM vw.u WHERE c = 2")
    audit.flush(spark)
    assert views.install(spark, SCHEMA) == tuple(f"{SCHEMA}.{name}" for name in THERE)
    yield spark
    audit.detach(spark)
    spark.sql("DROP SCHEMA vw CASCADE")
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


@pytest.fixture
def ask(audited):
    """Rows as tuples, unrecorded."""

    def asked(sql):
        with audit.suppress():
            return [tuple(row) for row in audited.sql(sql.replace("usage.", f"{SCHEMA}.")).collect()]

    return asked


def test_install_twice(audited):
    """Installing again changes nothing and raises nothing."""
    assert len(views.install(audited, SCHEMA)) == len(THERE)


def test_columns_are_documented(audited):
    """Every column of the views has a comment."""
    for name in THERE:
        with audit.suppress():
            schema = audited.table(f"{SCHEMA}.{name}").schema
        assert [f.name for f in schema if not f.metadata.get("comment")] == [], name


def test_columns_read_tells_direct_from_base(ask):
    """A read through a view has a direct row for the view and a base row for the table."""
    rows = ask(
        "SELECT object_name, column_name, is_direct, is_base FROM usage.columns_read r"
        " WHERE query_id = (SELECT query_id FROM usage.query_history"
        " WHERE query_type = 'CREATE_TABLE_AS_SELECT')"
    )
    assert set(rows) == {("spark_catalog.vw.v", "c", True, False), ("spark_catalog.vw.t", "a", False, True)}


def test_columns_read_keeps_a_read_without_columns(ask):
    """count(*) reads an object and no column: one row with a null column."""
    rows = ask("SELECT object_name, is_direct, is_base FROM usage.columns_read WHERE column_name IS NULL")
    assert rows == [("spark_catalog.vw.t", True, True)]


def test_columns_written_has_a_row_for_each_source(ask):
    """Direct and base source of a column, and one row without a source for a constant."""
    rows = ask(
        "SELECT column_name, source_kind, source_object_name, source_column_name"
        " FROM usage.columns_written WHERE object_name = 'spark_catalog.vw.u' AND column_name IS NOT NULL"
    )
    assert set(rows) == {
        ("c", "direct", "spark_catalog.vw.v", "c"),
        ("c", "base", "spark_catalog.vw.t", "a"),
        ("k", None, None, None),
    }


def test_columns_written_keeps_a_delete(ask):
    """A DELETE writes rows, not columns: one row with a null column."""
    rows = ask("SELECT object_name, source_kind FROM usage.columns_written WHERE column_name IS NULL")
    assert rows == [("spark_catalog.vw.u", None)]


def test_ddl_history_has_the_statement(ask):
    """A row for each DDL operation, with its text."""
    rows = ask("SELECT operation_type, object_name FROM usage.ddl_history WHERE query_text LIKE 'CREATE%'")
    assert sorted(rows) == [("CREATE", f"spark_catalog.vw{name}") for name in ("", ".t", ".u", ".v")]


def test_statements_has_every_statement_once(ask):
    """The join neither drops nor doubles a statement; what happened to the logging is in the other view."""
    (all_rows,), (statements,), (events,) = (
        ask(f"SELECT count(*) FROM usage.{name}")[0]
        for name in ("query_history", "statements", "logging_history")
    )
    assert (statements + events, events > 0) == (all_rows, True)
    assert ask("SELECT query_type FROM usage.statements WHERE writes_data AND NOT reads_data") == [
        ("INSERT",)
    ]


def test_predicate_on_time_reaches_the_table(audited):
    """A predicate on query_start_time passes the view down to the scan, where Delta prunes files by it."""
    frame = audited.table(f"{SCHEMA}.columns_read").where("query_start_time >= TIMESTAMP'2030-01-01'")
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    below = plan[plan.index("Generate") :]
    assert "query_start_time" in below[below.index("Filter") :].splitlines()[0]


BOUNDED = (
    ("columns_read", "query_start_time"), ("exports", "query_start_time"), ("exports", "query_date"),
    ("administrator_access", "query_start_time"), ("tagged_data_spread", "query_start_time"),
    ("top_readers", "query_date"), ("top_writers", "query_date"),
    ("failed_and_denied_attempts", "query_date"),
    ("aggregate_query_history", "query_date"), ("aggregate_access_history", "query_date"),
    ("system_access_audit", "event_date"), ("system_access_table_lineage", "event_time"),
    ("system_access_column_lineage", "event_time"), ("system_query_history", "start_time"),
    ("information_schema_jobs", "creation_time"), ("sessions_by_day", "query_date"),
    ("users_by_day", "query_date"),
    ("snowflake_query_history", "start_time"), ("logging_history", "event_time"),
    ("ddl_history", "query_start_time"), ("policy_statements", "query_start_time"),
    ("policy_statements_of_all_days", "query_start_time"),
    ("policies_in_force", "query_start_time"), ("statements", "start_time"),
    ("objects_read", "query_start_time"), ("columns_written", "query_start_time"),
)  # fmt: skip


UNBOUNDED = {"first_time_access", "policy_changes"}
"""They look for what was before."""


def test_each_view_of_days_is_bounded():
    """A new view is looked at, too."""
    missing = {view for view in TIMES if view in THERE} - {view for view, _ in BOUNDED} - UNBOUNDED
    assert missing == set()


@pytest.mark.parametrize(("view", "time"), BOUNDED)
def test_only_the_days_asked_for_are_read(audited, view, time):
    """No file of another day, through joins and sums; of `object_governance`, which has no days, all."""
    with audit.suppress():
        every = audited.table(f"{SCHEMA}.{view}").inputFiles()
        none = audited.table(f"{SCHEMA}.{view}").where(f"{time} >= DATE'2030-01-01'").inputFiles()
    assert [file for file in every if "/object_governance/" not in file] != []
    assert [file for file in none if "/object_governance/" not in file] == []


def test_no_tables(spark):
    """A schema without audit tables: one error that names it and says what to do."""
    with pytest.raises(views.ViewsError, match=r"nowhere_usage.*audit\.attach"):
        views.install(spark, "nowhere_usage")
