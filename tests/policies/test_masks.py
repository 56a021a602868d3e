"""Functions that mask columns and filter rows, in Databricks' words."""

from __future__ import annotations

import pytest

import audit
from audit.policies.errors import (
    AccessDeniedError,
    BadPolicyError,
    PolicyExistsError,
    PolicyInUseError,
    UnknownPolicyError,
)
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


@pytest.fixture
def table(session, schema):
    """A table, and functions beside it."""
    session.sql("CREATE TABLE t (id INT, ssn STRING, region STRING)")
    session.sql("INSERT INTO t VALUES (1, '111', 'eu'), (2, '222', 'us')")
    session.sql("CREATE FUNCTION star(x STRING) RETURNS STRING RETURN '*'")
    session.sql("CREATE FUNCTION by_region(x STRING, r STRING) RETURNS STRING RETURN if(r = 'eu', x, '-')")
    session.sql("CREATE FUNCTION is_eu(r STRING) RETURNS BOOLEAN RETURN r = 'eu'")
    return f"{schema}.t"


def _seen(session, columns="*"):
    return [tuple(row) for row in session.sql(f"SELECT {columns} FROM t ORDER BY id").collect()]


def test_masks_and_filters(session, table):
    """On, another in its place, off."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASK star")
    assert _seen(session, "ssn") == [("*",), ("*",)]
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASK by_region USING COLUMNS (region)")
    assert _seen(session, "ssn") == [("111",), ("-",)]
    session.sql("ALTER TABLE t SET ROW FILTER is_eu ON (region)")
    session.sql("ALTER TABLE t SET ROW FILTER is_eu ON (region)")
    assert _seen(session) == [(1, "111", "eu")]
    session.sql("ALTER TABLE t DROP ROW FILTER")
    session.sql("ALTER TABLE t ALTER COLUMN ssn DROP MASK")
    assert _seen(session) == [(1, "111", "eu"), (2, "222", "us")]


def test_the_function_is_changed(session, table):
    """By an administrator alone, and it shows at once; one in use is not dropped."""
    session.sql("ALTER TABLE t ALTER COLUMN ssn SET MASK star")
    new = "CREATE OR REPLACE FUNCTION star(x STRING) RETURNS STRING RETURN concat('+', right(x, 1))"
    with audit.as_user(session, "mallory"), pytest.raises(AccessDeniedError, match="star, which protects"):
        session.sql(new)
    session.sql(new)
    with pytest.raises(BadPolicyError, match="other types"):
        session.sql("CREATE OR REPLACE FUNCTION star(x INT) RETURNS INT RETURN x")
    assert _seen(session, "ssn") == [("+1",), ("+2",)]
    with pytest.raises(PolicyInUseError, match="DROP MASK"):
        session.sql("DROP FUNCTION star")
    session.sql("ALTER TABLE t ALTER COLUMN ssn DROP MASK")
    session.sql("DROP FUNCTION star")


def test_wrong(session, table):
    """Each mistake has an error that names the object, and nothing is half done."""
    session.sql("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> a = 'eu'")
    session.sql("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)")
    for text, error, said in (
        ("ALTER TABLE t ALTER COLUMN ssn SET MASK nope", UnknownPolicyError, "no function"),
        ("ALTER TABLE t ALTER COLUMN nope SET MASK star", UnknownPolicyError, "no column nope"),
        ("ALTER TABLE t ALTER COLUMN ssn SET MASK by_region", BadPolicyError, "by_region"),
        ("ALTER TABLE t ALTER COLUMN ssn SET MASK is_eu", BadPolicyError, "returns boolean"),
        ("ALTER TABLE t SET ROW FILTER is_eu ON (region)", PolicyExistsError, "has row access policy"),
        ("ALTER TABLE t DROP ROW FILTER", UnknownPolicyError, "no row filter"),
        ("ALTER TABLE t ALTER COLUMN ssn DROP MASK", UnknownPolicyError, "no masking policy"),
    ):
        with pytest.raises(error, match=said):
            session.sql(text)
    assert _seen(session) == [(1, "111", "eu")]
