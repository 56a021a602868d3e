"""Statements about privileges, read from text."""

from __future__ import annotations

import pytest

import lineage
from lineage import MemoryCatalog, analyze_script
from lineage.model import Domain

TO_A = {"to": "ROLE", "grantee": "A"}
READ = [
    (
        "GRANT SELECT, insert ON TABLE s.t TO ROLE a",
        "GRANT",
        Domain.TABLE,
        ("s", "t"),
        {"privileges": "SELECT, INSERT", **TO_A},
    ),
    (
        "GRANT CREATE MASKING POLICY, CREATE TABLE ON SCHEMA s TO a WITH GRANT OPTION;",
        "GRANT",
        Domain.SCHEMA,
        ("s",),
        {"privileges": "CREATE MASKING POLICY, CREATE TABLE", **TO_A, "grantOption": "true"},
    ),
    (
        "grant all privileges on database `a b` to user `ann@x.org`",
        "GRANT",
        Domain.SCHEMA,
        ("a b",),
        {"privileges": "ALL", "to": "USER", "grantee": "ann@x.org"},
    ),
    (
        "GRANT MANAGE GRANTS ON ACCOUNT TO ROLE `odd one`",
        "GRANT",
        Domain.ACCOUNT,
        (),
        {"privileges": "MANAGE GRANTS", "to": "ROLE", "grantee": "odd one"},
    ),
    (
        "GRANT USAGE ON FUNCTION f(INT, STRING) TO ROLE a",
        "GRANT",
        Domain.FUNCTION,
        ("f",),
        {"privileges": "USAGE", **TO_A},
    ),
    (
        "GRANT APPLY ON ROW ACCESS POLICY p TO ROLE a",
        "GRANT",
        Domain.ROW_ACCESS_POLICY,
        ("p",),
        {"privileges": "APPLY", **TO_A},
    ),
    (
        "GRANT APPLY ON SNAPSHOT POLICY s.p TO ROLE a",
        "GRANT",
        Domain.BACKUP_POLICY,
        ("s", "p"),
        {"privileges": "APPLY", **TO_A},
    ),
    (
        "GRANT OWNERSHIP ON BACKUP SET b TO ROLE a",
        "GRANT_OWNERSHIP",
        Domain.BACKUP_SET,
        ("b",),
        {"privileges": "OWNERSHIP", **TO_A},
    ),
    (
        "REVOKE APPLY BACKUP RETENTION LOCK, APPLY LEGAL HOLD ON ACCOUNT FROM ROLE a",
        "REVOKE",
        Domain.ACCOUNT,
        (),
        {"privileges": "APPLY BACKUP RETENTION LOCK, APPLY LEGAL HOLD", **TO_A},
    ),
    (
        "GRANT OWNERSHIP ON VIEW v TO ROLE a COPY CURRENT GRANTS",
        "GRANT_OWNERSHIP",
        Domain.VIEW,
        ("v",),
        {"privileges": "OWNERSHIP", **TO_A, "currentGrants": "COPY"},
    ),
    (
        "REVOKE ALL ON TABLE t FROM ROLE a CASCADE",
        "REVOKE",
        Domain.TABLE,
        ("t",),
        {"privileges": "ALL", **TO_A, "cascade": "true"},
    ),
    (
        "REVOKE GRANT OPTION FOR SELECT ON TABLE t FROM a",
        "REVOKE",
        Domain.TABLE,
        ("t",),
        {"privileges": "SELECT", **TO_A, "grantOption": "true"},
    ),
]


@pytest.mark.parametrize(("text", "kind", "domain", "name", "said"), READ)
def test_read(text, kind, domain, name, said):
    """Kind, object and what it says."""
    statement = lineage.parse(text)
    command = statement.command
    assert (statement.statement_type, command.domain, command.target) == (kind, domain, name)
    assert dict(command.properties) == said
    assert statement.is_ddl


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        ("SHOW GRANTS", (), {"grants": ""}),
        ("SHOW GRANTS ON TABLE s.t", ("s", "t"), {"grants": "ON", "on": "Table"}),
        ("show grants on account", (), {"grants": "ON", "on": "ACCOUNT"}),
        ("SHOW GRANTS TO ROLE a", (), {"grants": "TO", **TO_A}),
        ("SHOW GRANTS TO USER ann", (), {"grants": "TO", "to": "USER", "grantee": "ann"}),
        ("SHOW GRANTS OF ROLE a", (), {"grants": "OF", **TO_A}),
    ],
)
def test_show(text, target, said):
    """What is asked for; nothing is changed by it."""
    statement = lineage.parse(text)
    assert (statement.statement_type, statement.command.target) == ("SHOW", target)
    assert dict(statement.command.properties) == said
    assert not statement.is_ddl


@pytest.mark.parametrize(
    "text",
    [
        "GRANT SELECT ON TABLE t",
        "GRANT SELECT ON TABLE t TO ROLE",
        "GRANT SELECT ON TABLE TO ROLE a",
        "GRANT SELECT, ON TABLE t TO ROLE a",
        "GRANT ON TABLE t TO ROLE a",
        "GRANT SELECT (a) ON TABLE t TO ROLE a",
        "GRANT SELECT ON TABLE t TO ROLE a b",
        "GRANT SELECT ON TABLE t FROM ROLE a",
        "GRANT SELECT ON TABLE t TO ROLE a COPY CURRENT GRANTS",
        "GRANT OWNERSHIP ON TABLE t TO ROLE a COPY",
        "REVOKE SELECT ON TABLE t TO ROLE a",
        "REVOKE SELECT ON TABLE t FROM ROLE a WITH GRANT OPTION",
        "GRANT SELECT ON t TO ROLE a",
    ],
)
def test_half_a_statement_is_none(text):
    """What cannot be read whole is not read by half: Spark refuses it."""
    assert lineage.parse(text).command is None


@pytest.mark.parametrize("text", ["SHOW GRANTS ON t", "SHOW GRANTS OF USER a", "SHOW GRANTS x"])
def test_half_a_question_is_sparks(text):
    """Spark says what is wrong with it."""
    assert lineage.parse(text).command.properties == ()


@pytest.mark.parametrize(
    "text", ["SELECT grant FROM revoke", "CREATE TABLE grants (a INT)", "SHOW TABLES LIKE 'grants'"]
)
def test_other_statements_keep_their_kind(text):
    """A table or a column may be called so."""
    assert lineage.parse(text).statement_type not in ("GRANT", "REVOKE")


def test_on_record():
    """object_modified_by_ddl: the object that privileges are given on, and what was said."""
    catalog = MemoryCatalog({"t": ["a"]})

    def ddl(text):
        access = lineage.trace(lineage.parse(text), catalog)
        assert access.analysis == "full"
        return access.to_dict()["object_modified_by_ddl"]

    found = ddl("GRANT SELECT ON TABLE t TO ROLE a")
    assert (found["objectDomain"], found["operationType"]) == ("Table", "ALTER")
    assert found["objectName"].endswith("default.t")
    assert found["properties"] == {
        "privileges": {"value": "SELECT"}, "to": {"value": "ROLE"}, "grantee": {"value": "A"},
    }  # fmt: skip
    assert ddl("REVOKE MODIFY ON SCHEMA s FROM ROLE a")["objectName"].endswith(".s")
    assert ddl("GRANT CREATE SCHEMA ON ACCOUNT TO ROLE a")["objectName"] == "ACCOUNT"
    assert ddl("GRANT USAGE ON FUNCTION f TO ROLE a")["objectDomain"] == "FUNCTION"
    assert ddl("GRANT OWNERSHIP ON TAG g TO ROLE a")["objectDomain"] == "TAG"


def test_a_script_goes_on_as_before():
    """What is given to whom changes no table of a script."""
    found = analyze_script(
        "GRANT SELECT ON TABLE t TO ROLE a; GRANT APPLY ON TAG g TO ROLE a; INSERT INTO t SELECT b FROM u",
        MemoryCatalog({"t": ["a"], "u": ["b"]}),
    )
    assert found[2].to_dict()["objects_modified"][0]["columns"][0]["columnName"] == "a"
