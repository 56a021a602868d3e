"""What is measured: views of governance and of the catalog are up to date, and cost nobody else anything."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import audit
from audit import attached_sessions
from audit.policies.errors import AccessDeniedError
from audit.store.measured.names import CATALOG, GOVERNANCE, OF_CATALOG, OF_GOVERNANCE

pytestmark = pytest.mark.spark


def versions(session):
    """The newest versions of the two tables; -1 where there is none."""
    root = Path(attached_sessions.find(session).services.config.root)
    logs = (root / name / "_delta_log" for name in (GOVERNANCE, CATALOG))
    return [max((int(one.stem) for one in log.glob("*.json")), default=-1) for log in logs]


def ask(session, view, where="true", *columns):
    """Some columns of a view, in the order of all."""
    rows = session.sql(
        f"SELECT {', '.join(columns) or '*'} FROM account_usage.{view} WHERE {where} ORDER BY ALL"
    )
    return [tuple(row) for row in rows.collect()]


def test_governance_is_up_to_date(session):
    """Each change shows in the next query that names a view; what has not changed is not written again."""
    session.sql("CREATE ROLE measured")
    assert ask(session, "roles", "name = 'MEASURED'", "owner", "deleted_on") == [("ann", None)]
    (before, _) = versions(session)
    ask(session, "grants_to_users")
    ask(session, "policy_references")
    assert versions(session)[0] == before
    session.sql("DROP ROLE measured")
    assert ask(session, "roles", "name = 'MEASURED' AND deleted_on IS NULL") == []
    assert versions(session)[0] == before + 1


def test_the_catalog_is_up_to_date(session, schema):
    """The same of tables that are made and changed."""
    session.sql("CREATE TABLE t (a INT)")
    here = f"table_schema = '{schema}'"
    assert ask(session, "columns", here, "column_name") == [("a",)]
    (_, before) = versions(session)
    ask(session, "views")
    assert versions(session)[1] == before
    session.sql("ALTER TABLE t ADD COLUMN b STRING")
    assert ask(session, "columns", here, "column_name") == [("a",), ("b",)]
    assert versions(session)[1] == before + 1


def test_other_statements_measure_nothing(session, schema):
    """Whatever changes: who names no such view waits for none, nor does who names the audit tables."""
    ask(session, "roles")
    ask(session, "columns")
    before = versions(session)
    session.sql("CREATE TABLE t (roles INT)")
    session.sql("CREATE ROLE unseen")
    session.sql("SELECT roles FROM t").collect()
    session.sql("SELECT count(*) FROM account_usage.statements").collect()
    assert versions(session) == before


@pytest.mark.long("test_views_and_functions has them in order")
def test_each_by_itself(session):
    """A session that has installed nothing finds each view by its name."""
    for view in (*OF_GOVERNANCE, *OF_CATALOG):
        session.sql(f"SELECT * FROM account_usage.{view}").collect()


def test_the_catalog_of_any_provider(session, schema):
    """Ids are those of records; a type keeps its length; defaults, NOT NULL and comments are told."""
    session.sql(
        "CREATE TABLE d (a INT NOT NULL COMMENT 'key', b VARCHAR(5), s STRUCT<x: INT>) USING delta"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    session.sql("CREATE TABLE p (price DECIMAL(9, 2) DEFAULT 1.5, code VARCHAR(3)) USING parquet")
    session.sql("CREATE VIEW v (c COMMENT 'of d') COMMENT 'why' AS SELECT a FROM d")
    session.sql("SELECT * FROM v, p").collect()
    audit.flush(session)
    here = f"table_schema = '{schema}'"
    assert ask(
        session, "columns", here, "table_name", "ordinal_position", "column_name", "data_type", "is_nullable",
        "column_default", "numeric_precision", "numeric_scale", "comment",
    ) == [
        ("d", 1, "a", "int", "NO", None, None, None, "key"),
        ("d", 2, "b", "varchar(5)", "YES", None, None, None, None),
        ("d", 3, "s", "struct<x:int>", "YES", None, None, None, None),
        ("p", 1, "price", "decimal(9,2)", "YES", "1.5", 9, 2, None),
        ("p", 2, "code", "varchar(3)", "YES", None, None, None, None),
        ("v", 1, "c", "int", "NO", None, None, None, "of d"),
    ]  # fmt: skip
    assert ask(
        session, "catalog_tables", f"schema_name = '{schema}'", "object_name", "object_domain", "table_type",
        "provider", "comment",
    ) == [
        (f"spark_catalog.{schema}.d", "Table", "EXTERNAL", "delta", None),
        (f"spark_catalog.{schema}.p", "Table", "MANAGED", "parquet", None),
        (f"spark_catalog.{schema}.v", "VIEW", "VIEW", None, "why"),
    ]  # fmt: skip
    on_record = session.sql(
        "SELECT DISTINCT object_name, object_id, column_name, column_id FROM account_usage.columns_read"
        f" WHERE object_name LIKE 'spark_catalog.{schema}.%' AND is_direct ORDER BY ALL"
    ).collect()
    assert len(on_record) == 3
    found = ask(
        session, "columns", f"{here} AND table_name <> 'd'", f"'spark_catalog.{schema}.' || table_name",
        "table_id", "column_name", "column_id",
    )  # fmt: skip
    assert sorted(map(tuple, on_record)) == sorted(found)


def test_views_and_functions(session, schema):
    """Their texts, signatures and times; those that were dropped stay while they can come back."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    session.sql("CREATE VIEW w AS WITH t AS (SELECT * FROM v) SELECT * FROM t")
    session.sql("CREATE FUNCTION twice(a INT) RETURNS INT COMMENT 'doubles' RETURN a * 2")
    session.sql("CREATE FUNCTION rows_of(n INT) RETURNS TABLE (a INT) RETURN SELECT a FROM t WHERE a = n")
    (view, _) = ask(
        session, "views", f"table_schema = '{schema}'", "table_name", "view_definition", "deleted"
    )
    assert view == ("v", "SELECT a FROM t", None)
    here = f"function_schema = '{schema}'"
    columns = ("function_name", "argument_signature", "data_type", "function_language", "comment")
    assert ask(session, "functions", here, *columns) == [
        ("rows_of", "(n int)", "struct<a:int>", "SQL", None),
        ("twice", "(a int)", "int", "SQL", "doubles"),
    ]
    ((body, age),) = ask(
        session, "functions", f"{here} AND function_name = 'twice'", "function_definition",
        "current_timestamp() - created < INTERVAL 1 HOUR",
    )  # fmt: skip
    assert (body, age) == ("a * 2", True)
    hangs = f"referencing_schema = '{schema}'"
    pairs = (
        "referencing_object_name",
        "referenced_object_name",
        "referenced_object_domain",
        "dependency_type",
    )
    assert ask(session, "object_dependencies", hangs, *pairs) == [
        ("v", "t", "TABLE", "BY_NAME"), ("w", "v", "VIEW", "BY_NAME"),
    ]  # fmt: skip
    session.sql("DROP VIEW v")
    session.sql("DROP FUNCTION twice")
    gone = ask(session, "views", f"table_schema = '{schema}' AND deleted IS NOT NULL", "table_name")
    assert gone == [("v",)]
    assert ask(session, "functions", f"{here} AND deleted IS NOT NULL", *columns[:4]) == [
        ("twice", None, None, "SQL")
    ]
    # The view is broken: what it names is not there.
    assert ask(session, "object_dependencies", hangs, *pairs[:3]) == [("w", "v", None)]
    session.sql("UNDROP VIEW v")
    assert ask(session, "object_dependencies", hangs, *pairs[:3])[1] == ("w", "v", "VIEW")
    session.sql("DROP TABLE t")
    ((deleted,),) = ask(session, "catalog_tables", f"object_name = 'spark_catalog.{schema}.t'", "deleted")
    assert deleted is not None


def test_owners(session, schema):
    """GRANT OWNERSHIP decides, of a function as well; without it the catalog's owner is shown."""
    session.sql("CREATE ROLE keepers")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("CREATE FUNCTION f() RETURNS INT RETURN 1")
    session.sql("GRANT OWNERSHIP ON TABLE t TO ROLE keepers")
    session.sql("GRANT OWNERSHIP ON FUNCTION f TO ROLE keepers")
    assert ask(session, "catalog_tables", f"schema_name = '{schema}'", "owner") == [("KEEPERS",)]
    assert ask(session, "functions", f"function_schema = '{schema}'", "function_owner") == [("KEEPERS",)]
    session.sql("DROP ROLE keepers")
    assert ask(session, "functions", f"function_schema = '{schema}'", "function_owner") == [("ACCOUNTADMIN",)]


@pytest.mark.long("tests/ops has tables that cannot be read")
def test_a_table_with_a_damaged_log(session, schema):
    """It is in the catalog, and the others are measured."""
    session.sql("CREATE TABLE broken (a INT)")
    session.sql("CREATE TABLE whole (a INT)")
    location = Path(re.sub("^file:", "", session.sql("DESCRIBE DETAIL broken").first()["location"]))
    shutil.rmtree(location / "_delta_log")
    (location / "_delta_log").mkdir()
    (location / "_delta_log" / f"{0:020}.json").write_text("{", encoding="utf-8")
    found = ask(session, "catalog_tables", f"schema_name = '{schema}'", "table_name")
    assert found == [("broken",), ("whole",)]
    assert ask(session, "columns", f"table_schema = '{schema}' AND table_name = 'whole'", "column_name") == [
        ("a",)
    ]
    shutil.rmtree(location)


def test_only_the_system_writes_them(session, schema):
    """They are the audit's own tables, by name and by path."""
    ask(session, "roles")
    root = attached_sessions.find(session).services.config.root
    for target in (f"account_usage.{GOVERNANCE}", f"delta.`{root}/{GOVERNANCE}`"):
        with pytest.raises(AccessDeniedError, match="audit"):
            session.sql(f"DELETE FROM {target}")
