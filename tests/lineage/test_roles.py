"""Statements about roles, read from text."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog

READ = [
    ("CREATE ROLE analyst", "CREATE_ROLE", ("ANALYST",), {}),
    ("CREATE OR REPLACE ROLE `odd one` COMMENT = 'x'", "CREATE_ROLE", ("odd one",), {"comment": "x"}),
    ("ALTER ROLE a SET COMMENT = 'y'", "ALTER_ROLE", ("A",), {"comment": "y"}),
    ("DROP ROLE IF EXISTS a", "DROP_ROLE", ("A",), {}),
    ("GRANT ROLE a TO USER `Ann@x.org`", "GRANT_ROLE", ("A",), {"to": "USER", "grantee": "Ann@x.org"}),
    ("GRANT ROLE a TO ROLE b", "GRANT_ROLE", ("A",), {"to": "ROLE", "grantee": "B"}),
    ("revoke role a /* now */ from user ann;", "REVOKE_ROLE", ("A",), {"to": "USER", "grantee": "ann"}),
    ("USE ROLE a", "USE_ROLE", ("A",), {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "name", "said"), READ)
def test_read(text, kind, name, said):
    """Kind, name and what it says."""
    statement = lineage.parse(text)
    assert (statement.statement_type, statement.command.target) == (kind, name)
    assert dict(statement.command.properties) == said


@pytest.mark.parametrize(
    "text",
    ["USE role", "SELECT role FROM role", "DROP TABLE role", "CREATE TABLE role (a INT)", "USE SCHEMA role"],
)
def test_other_statements_keep_their_kind(text):
    """A table, a schema or a column may be called role."""
    assert "ROLE" not in lineage.parse(text).statement_type


@pytest.mark.parametrize(
    "text", ["CREATE ROLE", "CREATE ROLE a.b", "GRANT ROLE a TO b", "GRANT ROLE a TO USER b c"]
)
def test_half_a_statement_is_none(text):
    """What cannot be read whole is not read by half: Spark refuses it."""
    assert lineage.parse(text).command is None


def test_on_record():
    """object_modified_by_ddl: a role belongs to no schema."""
    access = lineage.trace(lineage.parse("GRANT ROLE a TO USER ann"), MemoryCatalog({}))
    ddl = access.to_dict()["object_modified_by_ddl"]
    assert (ddl["objectDomain"], ddl["objectName"], ddl["operationType"]) == ("ROLE", "A", "ALTER")
    assert ddl["properties"] == {"to": {"value": "USER"}, "grantee": {"value": "ann"}}
