"""Who may read the audit tables may read the views of governance and of the catalog, and nobody else."""

from __future__ import annotations

import pytest

import audit
from audit.policies.errors import AccessDeniedError
from audit.store.measured.names import OF_CATALOG, OF_GOVERNANCE

ATTACH = {"enforce_privileges": True}
VIEWS = ("statements", *OF_GOVERNANCE, *OF_CATALOG)


def rows(session, view):
    """What bob sees of a view."""
    with audit.as_user(session, "bob"):
        return session.sql(f"SELECT * FROM account_usage.{view}").collect()


@pytest.mark.long("each view; test_privileges has tables")
def test_with_and_without_privileges(session):
    """SELECT and USAGE on the schema, as for the tables; a refusal measures nothing that bob sees."""
    session.sql("CREATE ROLE readers")
    for view in VIEWS:
        with pytest.raises(
            AccessDeniedError, match=f"bob may not read view spark_catalog.account_usage.{view}"
        ):
            rows(session, view)
    session.sql("GRANT USAGE, SELECT ON SCHEMA account_usage TO ROLE readers")
    session.sql("GRANT ROLE readers TO USER bob")
    for view in VIEWS:
        rows(session, view)
    assert [(row.role, row.grantee_name) for row in rows(session, "grants_to_users")] == [("READERS", "bob")]
    with audit.as_user(session, "bob"), pytest.raises(AccessDeniedError):
        session.sql("DELETE FROM account_usage.object_governance")
