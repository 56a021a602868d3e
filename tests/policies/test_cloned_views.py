"""Views that come by another way than CREATE VIEW are protected as they were before."""

from __future__ import annotations

from itertools import count

import pytest

import audit
from audit.policies.errors import AccessDeniedError
from audit.testing import records
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
LEDGER = "session"
_NUMBERS = count()

POLICIES = {
    "a mask": ["ALTER VIEW v ALTER COLUMN name SET MASKING POLICY hush"],
    "a row policy": ["ALTER VIEW v ADD ROW ACCESS POLICY near ON (region)"],
    "a tag of the column": ["ALTER VIEW v ALTER COLUMN name SET TAG pii = 'high'"],
    "a tag of the view": ["ALTER VIEW v SET TAG pii = 'high'"],
    "a tag of the schema": ["ALTER SCHEMA {schema} SET TAG pii = 'high'"],
}


@pytest.fixture
def schema(session):
    """A schema with a table and a view over it, which shows everything; the name of a clone beside it."""
    name = f"views_{next(_NUMBERS)}"
    for text in (
        f"CREATE SCHEMA {name}",
        f"USE {name}",
        "CREATE MASKING POLICY hush AS (v STRING) RETURNS STRING -> '***'",
        "CREATE ROW ACCESS POLICY near AS (r STRING) RETURNS BOOLEAN -> r = 'eu'",
        "CREATE TAG pii",
        "ALTER TAG pii SET MASKING POLICY hush",
        "CREATE TABLE t AS SELECT * FROM VALUES ('ann', 'eu'), ('bob', 'us') AS v(name, region)",
        "CREATE VIEW v AS SELECT name, region FROM t",
    ):
        session.sql(text)
    yield name
    session.sql("USE default")
    for one in (f"{name}_clone", name):
        session.sql(f"DROP SCHEMA IF EXISTS {one} CASCADE")


def seen(session, view):
    """What a user sees who administers nothing."""
    with audit.as_user(session, "mallory"):
        return sorted(map(tuple, session.table(view).collect()))


def protected(session, schema, policies):
    """The view is protected from now on; what such a user sees of it."""
    for text in POLICIES[policies]:
        session.sql(text.format(schema=schema))
    shown = seen(session, f"{schema}.v")
    assert ("bob", "us") not in shown
    return shown


@pytest.mark.one_in(3, "each kind of policy")
@pytest.mark.parametrize("policies", POLICIES)
def test_of_a_schemas_clone(session, schema, policies):
    """CREATE SCHEMA … CLONE: nobody sees more in the clone's view than in its source's."""
    wanted = protected(session, schema, policies)
    with audit.as_user(session, "mallory"):
        session.sql(f"CREATE SCHEMA {schema}_clone CLONE {schema}")
    assert seen(session, f"{schema}_clone.v") == wanted


@pytest.mark.parametrize("policies", ["a mask", "a row policy"])
def test_of_a_view_that_was_dropped_since(session, schema, policies):
    """CREATE SCHEMA … CLONE … BEFORE its DROP brings it back as it was protected."""
    wanted = protected(session, schema, policies)
    session.sql("DROP VIEW v")
    dropped = records(session)[-1].query
    assert dropped.query_text == "DROP VIEW v"
    session.sql(f"CREATE SCHEMA {schema}_clone CLONE {schema} BEFORE (STATEMENT => '{dropped.query_id}')")
    assert seen(session, f"{schema}_clone.v") == wanted


@pytest.mark.parametrize("policies", ["a mask", "a row policy"])
def test_of_a_schema_that_comes_back(session, schema, policies):
    """UNDROP SCHEMA brings its views back as they were protected."""
    wanted = protected(session, schema, policies)
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    session.sql(f"UNDROP SCHEMA {schema}")
    assert seen(session, f"{schema}.v") == wanted


@pytest.mark.parametrize("policies", ["a mask", "a row policy", "a tag of the view"])
def test_a_new_name_is_refused(session, schema, policies):
    """ALTER VIEW … RENAME TO: policies know a view by its name."""
    protected(session, schema, policies)
    with pytest.raises(AccessDeniedError, match="by its name; take them off to rename it"):
        session.sql("ALTER VIEW v RENAME TO w")
