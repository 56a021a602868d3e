"""BigQuery's row access policies: several to a table, each granted to some."""

from __future__ import annotations

import pytest

import audit
from audit.policies.errors import BadPolicyError, PolicyExistsError, PolicyInUseError, UnknownPolicyError
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


@pytest.fixture
def table(session, schema):
    """A table without policies."""
    session.sql("CREATE TABLE t (id INT, region STRING)")
    session.sql("INSERT INTO t VALUES (1, 'eu'), (2, 'us'), (3, 'asia')")
    return f"{schema}.t"


def _seen(session, user=None, name="t"):
    def rows():
        return [row.id for row in session.sql(f"SELECT id FROM {name} ORDER BY id").collect()]

    if user is None:
        return rows()
    with audit.as_user(session, user):
        return rows()


def test_granted(session, table, schema):
    """One policy of those granted to a reader has to let a row through; who is granted none sees none."""
    session.sql("CREATE ROLE team")
    session.sql("GRANT ROLE team TO USER `zoe@x.org`")
    session.sql("CREATE ROW ACCESS POLICY eu ON t GRANT TO ('user:bob@x.org') FILTER USING (region = 'eu')")
    session.sql(
        "CREATE ROW ACCESS POLICY us ON t GRANT TO ('group:team', 'user:bob@x.org')"
        " FILTER USING (region = 'us')"
    )
    session.sql("CREATE ROW ACCESS POLICY boss ON t GRANT TO ('user:eve@x.org') FILTER USING (TRUE)")
    assert _seen(session, "bob@x.org") == [1, 2]
    assert _seen(session, "zoe@x.org") == [2]
    assert _seen(session, "eve@x.org") == [1, 2, 3]
    assert [_seen(session, "mallory"), _seen(session)] == [[], []]
    session.sql("CREATE TABLE copy SHALLOW CLONE t")
    session.sql("CREATE OR REPLACE ROW ACCESS POLICY us ON t GRANT TO ('domain:x.org') FILTER USING (id > 2)")
    assert [_seen(session, "zoe@x.org"), _seen(session, "zoe@x.org", "copy")] == [[3], [2]]
    assert session.sql("SHOW ROW ACCESS POLICIES").count() == 3
    session.sql("DROP ROW ACCESS POLICY eu ON t")
    assert _seen(session, "bob@x.org") == [3]
    session.sql("DROP ALL ROW ACCESS POLICIES ON t")
    assert _seen(session, "mallory") == [1, 2, 3]
    assert _seen(session, "mallory", "copy") == []
    session.sql("DROP ROLE team")


def test_wrong(session, table, schema):
    """Each mistake has an error that names the object, and nothing is half done."""
    all_see = "GRANT TO ('allAuthenticatedUsers') FILTER USING"
    session.sql(f"CREATE ROW ACCESS POLICY p ON t {all_see} (TRUE)")
    session.sql(f"CREATE ROW ACCESS POLICY IF NOT EXISTS p ON t {all_see} (FALSE)")
    session.sql("CREATE ROW ACCESS POLICY r AS (a STRING) RETURNS BOOLEAN -> false")
    for text, error, said in (
        (f"CREATE ROW ACCESS POLICY p ON t {all_see} (TRUE)", PolicyExistsError, "is on"),
        (f"CREATE ROW ACCESS POLICY q ON t {all_see} (nope = 1)", BadPolicyError, "nope"),
        (f"CREATE ROW ACCESS POLICY q ON t {all_see} (id)", BadPolicyError, "type mismatch"),
        ("CREATE ROW ACCESS POLICY q ON t GRANT TO ('bob') FILTER USING (TRUE)", BadPolicyError, "nobody"),
        ("ALTER TABLE t ADD ROW ACCESS POLICY r ON (region)", PolicyExistsError, "has row access policy"),
        ("DROP ROW ACCESS POLICY q ON t", UnknownPolicyError, "no row access policy q"),
        ("DROP ROW ACCESS POLICY p ON t", BadPolicyError, "DROP ALL"),
        (f"DROP ROW ACCESS POLICY spark_catalog.{schema}.t.p", PolicyInUseError, "protects"),
    ):
        with pytest.raises(error, match=said):
            session.sql(text)
    assert _seen(session, "mallory") == [1, 2, 3]


def test_show_history_tells_no_count_of_hidden_rows(session, table):
    """Rows and bytes of a table with hidden rows, dropped or not, are the administrator's to know."""
    session.sql("CREATE TABLE open (a INT)")
    session.sql("INSERT INTO open VALUES (1), (2)")
    session.sql("CREATE ROW ACCESS POLICY eu ON t GRANT TO ('user:bob@x.org') FILTER USING (region = 'eu')")

    def sizes(user):
        with audit.as_user(session, user):
            shown = session.sql("SHOW TABLES HISTORY").collect()
        return {row.name: (row.rows, row.bytes is not None) for row in shown}

    assert sizes("bob@x.org") == sizes("mallory") == {"open": (2, True), "t": (None, False)}
    assert sizes("ann") == {"open": (2, True), "t": (3, True)}
    session.sql("DROP TABLE t")
    assert sizes("mallory") == {"open": (2, True), "t": (None, False)}
    assert sizes("ann") == {"open": (2, True), "t": (3, True)}
    session.sql("DROP TABLE open")
