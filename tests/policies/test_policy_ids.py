"""A policy or a tag has one id on record: from its creation, through renames, until its name is another's."""

from __future__ import annotations

import pytest

from audit.testing import records
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

ATTACH = NO_TABLES


@pytest.mark.parametrize(
    ("create", "alter", "rename"),
    [
        (
            "CREATE {r} MASKING POLICY {n} AS (v STRING) RETURNS STRING -> 'x'",
            "ALTER MASKING POLICY {n} SET BODY -> 'y'",
            "ALTER MASKING POLICY {n} RENAME TO {n}_2",
        ),
        (
            "CREATE {r} ROW ACCESS POLICY {n} AS (v STRING) RETURNS BOOLEAN -> true",
            "ALTER ROW ACCESS POLICY {n} SET BODY -> false",
            "ALTER ROW ACCESS POLICY {n} RENAME TO {n}_2",
        ),
        ("CREATE {r} TAG {n}", "ALTER TAG {n} SET COMMENT = 'c'", "ALTER TAG {n} RENAME TO {n}_2"),
    ],
    ids=["masking-policy", "row-access-policy", "tag"],
)
def test_one_id(session, create, alter, rename):
    """Of CREATE, ALTER, RENAME and DROP; a policy that is made anew under the name is another."""
    name = "one_id"
    drop = rename.split(" RENAME")[0].replace("ALTER", "DROP")
    texts = [create.format(r="", n=name), alter.format(n=name), rename.format(n=name)]
    texts += [drop.format(n=f"{name}_2"), create.format(r="", n=name), drop.format(n=name)]
    for text in texts:
        session.sql(text)
    told = {}
    for one in records(session):
        if one.query.query_text in texts:
            told.setdefault(one.query.query_text, []).append(one.access[0].object_modified_by_ddl.objectId)
    first, again = told[texts[0]]
    assert [told[text] for text in texts[1:4]] == [[first]] * 3
    assert told[texts[5]] == [again]
    assert first != again
