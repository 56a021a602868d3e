"""One process, one metastore, several roots after each other: what a fixture with `tmp_path` does."""

from __future__ import annotations

import shutil

import pytest

import audit
from audit import attached_sessions, testing
from audit.core.errors import SchemaTakenError
from tests.ops.helpers import make_tables
from tests.sessions import attached

pytestmark = pytest.mark.spark


def texts(session):
    """What account_usage shows."""
    with audit.suppress():
        rows = session.table("account_usage.query_history").collect()
        return {row.query_text for row in rows if not row.query_type.startswith("AUDIT_")}


@pytest.fixture
def source(spark):
    """A session for all roots, as a test suite has one; its schema of audit tables is gone afterwards."""
    session = spark.newSession()
    yield session
    spark.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")


def attach(session, root):
    """Audit a session under a root whose tables are there."""
    make_tables(session, root)
    audit.attach(session, user="ann", root=str(root), durable=False, ingest_interval_seconds=3600)


def test_a_second_root_shows_its_own_records(source, tmp_path):
    """After a detach the names are those of the new root, and those of the first one when it comes again."""
    for number, root in enumerate(("one", "two", "one")):
        attach(source, tmp_path / root)
        source.sql(f"SELECT {number} AS of_{root}").collect()
        audit.flush(source)
        expected = {f"SELECT {n} AS of_{root}" for n in range(number + 1) if n % 2 == number % 2}
        assert texts(source) == expected
        audit.detach(source)


def test_a_root_whose_files_are_gone_gives_way(source, tmp_path, monkeypatch):
    """The metastore may outlive a run, whose temporary folder is removed."""
    attach(source, tmp_path / "old")
    audit.flush(source)
    audit.detach(source)
    shutil.rmtree(tmp_path / "old")
    monkeypatch.setattr(attached_sessions._REGISTRY, "former_roots", set())
    attach(source, tmp_path / "new")
    source.sql("SELECT 1 AS new").collect()
    audit.flush(source)
    assert texts(source) == {"SELECT 1 AS new"}
    audit.detach(source)


@pytest.mark.filterwarnings("ignore:.*AUDIT_SCHEMA_TAKEN")
def test_a_root_in_use_is_not_taken_for_another(spark, tmp_path):
    """Its names are left, and a question to them is refused where they would be the wrong answer."""
    with attached(spark, tmp_path / "one") as one:
        audit.flush(one)
        other = spark.newSession()
        attach(other, tmp_path / "two")
        audit.flush(other)  # records are written by path
        with pytest.raises(SchemaTakenError, match=r"one, not those of .*two.*DROP SCHEMA account_usage"):
            other.sql("SELECT * FROM account_usage.query_history")
        one.sql("SELECT 1 AS one").collect()
        audit.flush(one)
        assert "SELECT 1 AS one" in texts(one)
        audit.detach(other)


def test_an_attach_after_a_detach_is_no_statement(source, tmp_path):
    """The system reads its own tables at once; no user has done so."""
    attach(source, tmp_path)
    source.sql("CREATE ROLE looker")
    source.sql("CREATE SCHEMA second_root_of_ann")
    source.sql("CREATE TABLE second_root_of_ann.t (a INT) USING delta")
    source.sql("DROP TABLE second_root_of_ann.t")
    audit.detach(source)
    attach(source, tmp_path)
    source.sql("SHOW ROLES").collect()
    source.sql("SHOW TABLES HISTORY IN second_root_of_ann").collect()
    assert [record.query.query_type for record in testing.records(source)] == ["SHOW", "SHOW"]
    source.sql("DROP SCHEMA second_root_of_ann CASCADE")
    audit.detach(source)
