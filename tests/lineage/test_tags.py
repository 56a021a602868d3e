"""Statements about tags, read from text, and the masks that come with them in memory."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog
from lineage.model import Domain
from lineage.sql.commands.command import Change

ADD, DROP = "ADD", "DROP"
MASK, TAG = Domain.MASKING_POLICY, Domain.TAG
READ = [
    ("CREATE TAG g.t", "CREATE_TAG", ()),
    (
        "CREATE OR REPLACE TAG t ALLOWED_VALUES 'a', 'b' COMMENT = 'c'",
        "CREATE_TAG",
        (Change(ADD, None, value="a"), Change(ADD, None, value="b")),
    ),
    ("ALTER TAG t RENAME TO u", "RENAME_TAG", ()),
    ("ALTER TAG t ADD ALLOWED_VALUES 'c'", "ALTER_TAG", (Change(ADD, None, value="c"),)),
    ("ALTER TAG t DROP ALLOWED_VALUES 'c'", "ALTER_TAG", (Change(DROP, None, value="c"),)),
    ("ALTER TAG t UNSET ALLOWED_VALUES", "ALTER_TAG", (Change(DROP, None),)),
    ("ALTER TAG t SET COMMENT = 'x'", "ALTER_TAG", ()),
    (
        "ALTER TAG t SET MASKING POLICY p, MASKING POLICY g.q FORCE",
        "ALTER_TAG",
        (Change(ADD, MASK, ("p",), force=True), Change(ADD, MASK, ("g", "q"), force=True)),
    ),
    ("ALTER TAG t UNSET MASKING POLICY p", "ALTER_TAG", (Change(DROP, MASK, ("p",)),)),
    ("DROP TAG IF EXISTS t", "DROP_TAG", ()),
    ("UNDROP TAG t", "UNDROP_TAG", ()),
    ("ALTER VIEW v SET TAG t = 'x'", "ALTER_VIEW", (Change(ADD, TAG, ("t",), value="x"),)),
    (
        "ALTER TABLE s.x SET TAG t = 'x', g.u = 'y'",
        "ALTER_TABLE",
        (Change(ADD, TAG, ("t",), value="x"), Change(ADD, TAG, ("g", "u"), value="y")),
    ),
    ("ALTER TABLE x SET TAG t = 'O''Brien'", "ALTER_TABLE", (Change(ADD, TAG, ("t",), value="O'Brien"),)),
    ("ALTER TABLE x UNSET TAG t, u", "ALTER_TABLE", (Change(DROP, TAG, ("t",)), Change(DROP, TAG, ("u",)))),
    ("ALTER SCHEMA s SET TAG t = 'x'", "ALTER_SCHEMA", (Change(ADD, TAG, ("t",), value="x"),)),
    (
        "ALTER TABLE x MODIFY COLUMN c SET TAG t = 'x'",
        "ALTER_TABLE",
        (Change(ADD, TAG, ("t",), "c", (), "x"),),
    ),
    (
        "ALTER TABLE x ALTER COLUMN c SET TAG t = 'x', COLUMN d UNSET TAG t",
        "ALTER_TABLE",
        (Change(ADD, TAG, ("t",), "c", (), "x"), Change(DROP, TAG, ("t",), "d")),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "changes"), READ)
def test_read(text, kind, changes):
    """Kind, and what it changes."""
    statement = lineage.parse(text)
    assert (statement.statement_type, statement.command.changes) == (kind, changes)
    assert statement.is_ddl


@pytest.mark.parametrize("text", ["CREATE TAG", "ALTER TAG t", "UNDROP TAG t u", "ALTER TABLE x SET TAG"])
def test_half_a_statement_is_none(text):
    """Nothing is tagged by half a statement."""
    command = lineage.parse(text).command
    assert command is None or not command.changes


def _masks(*statements):
    policies = {
        f"default.{name}": f"CREATE MASKING POLICY {name} AS (v STRING) RETURNS STRING -> '{name}'"
        for name in ("own", "near", "far")
    }
    tags = [
        "CREATE TAG near_tag", "CREATE TAG far_tag", "ALTER TAG near_tag SET MASKING POLICY near",
        "ALTER TAG far_tag SET MASKING POLICY far",
    ]  # fmt: skip
    tables = {"s.t": {"a": "string", "b": "string", "n": "int"}}
    catalog = MemoryCatalog(tables, policies=policies, attached=[*tags, *statements])
    found = catalog.policies(catalog.relation(("s", "t")))
    return {one.columns[0]: one.policy.name.split(".")[-1] for one in found}


@pytest.mark.parametrize(
    ("statements", "masks"),
    [
        (["ALTER SCHEMA s SET TAG far_tag = 'x'"], {"a": "far", "b": "far"}),
        (
            ["ALTER SCHEMA s SET TAG far_tag = 'x'", "ALTER TABLE s.t SET TAG near_tag = 'x'"],
            {"a": "near", "b": "near"},
        ),
        (
            [
                "ALTER TABLE s.t SET TAG far_tag = 'x'",
                "ALTER TABLE s.t ALTER COLUMN a SET TAG near_tag = 'x'",
            ],
            {"a": "near", "b": "far"},
        ),
        (
            [
                "ALTER TABLE s.t SET TAG far_tag = 'x'",
                "ALTER TABLE s.t ALTER COLUMN a SET MASKING POLICY own",
            ],
            {"a": "own", "b": "far"},
        ),
    ],
)
def test_the_nearest_wins(statements, masks):
    """Schema, table, column, the mask set by name; a policy masks columns of its own type alone."""
    assert _masks(*statements) == masks
