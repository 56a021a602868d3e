"""What the statements about backups are, by their type and what they say; which clauses are wrong."""

from __future__ import annotations

import pytest

from audit.record.access_record import names_in
from lineage.model import Domain
from lineage.sql.commands.backups.statements import (
    AddBackup,
    AlterBackupPolicy,
    AlterBackupSet,
    ApplyBackupPolicy,
    ChangeLegalHold,
    CreateBackupPolicy,
    CreateBackupSet,
    CreateFromBackup,
    DeleteBackup,
    DescribeBackups,
    DropBackupPolicy,
    DropBackupSet,
    RenameBackupPolicy,
    RenameBackupSet,
    ShowBackups,
    SuspendBackupPolicy,
    WrongBackupClause,
)
from lineage.sql.commands.command import CURRENT_SCHEMA, Change
from lineage.sql.own_statements import is_own
from lineage.sql.parse import parse, typed_of
from lineage.sql.redaction.rules import RedactionRules
from lineage.sql.redaction.sql_text import redact_sql

TAG = Change("ADD", Domain.TAG, ("g",), value="v")
LOCKED = CreateBackupPolicy(
    ("p",), retention_lock=True, schedule="24 HOUR", expire_after_days=90, comment="x", tags=(TAG,)
)
SET = CreateBackupSet(("b",), Domain.TABLE, ("s", "t"), ("p",), "x", (TAG,))

READ = [
    (
        """CREATE BACKUP POLICY p WITH RETENTION LOCK SCHEDULE = '24 HOUR' EXPIRE_AFTER_DAYS = 90
        COMMENT = 'x' TAG (g = 'v')""",
        LOCKED,
    ),
    (
        """create backup policy `p` with tag (g = 'v') comment 'x' expire_after_days 90 schedule '24 HOUR'
        with retention lock ; -- done""",
        LOCKED,
    ),
    ("CREATE SNAPSHOT POLICY a.p EXPIRE_AFTER_DAYS = 1", CreateBackupPolicy(("a", "p"), expire_after_days=1)),
    (
        "CREATE OR REPLACE BACKUP POLICY p SCHEDULE = 'USING CRON 0 2 * * * UTC'",
        CreateBackupPolicy(("p",), schedule="USING CRON 0 2 * * * UTC", replace=True),
    ),
    ("CREATE BACKUP POLICY IF NOT EXISTS p", CreateBackupPolicy(("p",), if_not_exists=True)),
    (
        "ALTER BACKUP POLICY p SET EXPIRE_AFTER_DAYS = 2, COMMENT = 'y' SCHEDULE = '1 HOUR'",
        AlterBackupPolicy(("p",), (("EXPIRE_AFTER_DAYS", 2), ("COMMENT", "y"), ("SCHEDULE", "1 HOUR"))),
    ),
    (
        "ALTER BACKUP POLICY p UNSET SCHEDULE, COMMENT",
        AlterBackupPolicy(("p",), (("SCHEDULE", None), ("COMMENT", None))),
    ),
    ("ALTER BACKUP POLICY p SET TAG g = 'v'", AlterBackupPolicy(("p",), tags=(TAG,))),
    (
        "ALTER BACKUP POLICY p UNSET TAG g, s.h",
        AlterBackupPolicy(
            ("p",), tags=(Change("DROP", Domain.TAG, ("g",)), Change("DROP", Domain.TAG, ("s", "h")))
        ),
    ),
    ("ALTER BACKUP POLICY s.p RENAME TO s.q", RenameBackupPolicy(("s", "p"), ("s", "q"))),
    ("DROP BACKUP POLICY IF EXISTS p", DropBackupPolicy(("p",), if_exists=True)),
    ("CREATE BACKUP SET b FOR TABLE s.t WITH BACKUP POLICY p COMMENT = 'x' TAG (g = 'v')", SET),
    ("CREATE BACKUP SET b WITH TAG (g = 'v') COMMENT 'x' WITH SNAPSHOT POLICY p FOR TABLE s.t;", SET),
    (
        "CREATE OR REPLACE BACKUP SET b FOR DATABASE s",
        CreateBackupSet(("b",), Domain.SCHEMA, ("s",), replace=True),
    ),
    (
        "CREATE BACKUP SET IF NOT EXISTS b FOR NAMESPACE c.s",
        CreateBackupSet(("b",), Domain.SCHEMA, ("c", "s"), if_not_exists=True),
    ),
    ("ALTER BACKUP SET b ADD BACKUP", AddBackup(("b",))),
    ("ALTER SNAPSHOT SET b ADD SNAPSHOT", AddBackup(("b",))),
    ("ALTER BACKUP SET b APPLY BACKUP POLICY s.p", ApplyBackupPolicy(("b",), ("s", "p"))),
    ("ALTER BACKUP SET b APPLY BACKUP POLICY p FORCE", ApplyBackupPolicy(("b",), ("p",), force=True)),
    ("ALTER BACKUP SET b SUSPEND BACKUP POLICY", SuspendBackupPolicy(("b",))),
    ("ALTER BACKUP SET b RESUME BACKUP POLICY", SuspendBackupPolicy(("b",), resume=True)),
    ("ALTER BACKUP SET b SUSPEND BACKUP CREATION POLICY", SuspendBackupPolicy(("b",), expiration=False)),
    (
        "ALTER BACKUP SET b RESUME BACKUP EXPIRATION POLICY",
        SuspendBackupPolicy(("b",), resume=True, creation=False),
    ),
    ("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER 'i'", DeleteBackup(("b",), "i")),
    (
        "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' ADD LEGAL HOLD",
        ChangeLegalHold(("b",), "i", add=True),
    ),
    (
        "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' REMOVE LEGAL HOLD",
        ChangeLegalHold(("b",), "i", add=False),
    ),
    ("ALTER BACKUP SET b SET COMMENT = ''", AlterBackupSet(("b",), sets_comment=True, comment="")),
    ("ALTER BACKUP SET b UNSET COMMENT", AlterBackupSet(("b",), sets_comment=True)),
    ("ALTER BACKUP SET set SET TAG g = 'v'", AlterBackupSet(("set",), tags=(TAG,))),
    (
        "ALTER BACKUP SET b UNSET TAG g",
        AlterBackupSet(("b",), tags=(Change("DROP", Domain.TAG, ("g",)),)),
    ),
    ("ALTER BACKUP SET b RENAME TO c", RenameBackupSet(("b",), ("c",))),
    ("DROP BACKUP SET b", DropBackupSet(("b",))),
    ("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'", CreateFromBackup(Domain.TABLE, ("x",), ("b",), "i")),
    (
        "CREATE OR REPLACE SCHEMA c.x FROM SNAPSHOT SET s.b IDENTIFIER = 'i'",
        CreateFromBackup(Domain.SCHEMA, ("c", "x"), ("s", "b"), "i", replace=True),
    ),
    (
        "CREATE DATABASE IF NOT EXISTS x FROM BACKUP SET b IDENTIFIER 'i'",
        CreateFromBackup(Domain.SCHEMA, ("x",), ("b",), "i", if_not_exists=True),
    ),
    ("CREATE TABLE IDENTIFIER('s.x') FROM BACKUP SET IDENTIFIER('s.b') IDENTIFIER 'i'",
     CreateFromBackup(Domain.TABLE, ("s", "x"), ("s", "b"), "i")),
    ("SHOW BACKUP POLICIES", ShowBackups("POLICIES")),
    (
        "SHOW BACKUP SETS IN SCHEMA LIKE 'a%' LIMIT 5 FROM 'b' STARTS WITH 'a'",
        ShowBackups("SETS", (), "a%", CURRENT_SCHEMA, "a", 5, "b"),
    ),
    ("SHOW BACKUP SETS IN DATABASE STARTS WITH 'a'", ShowBackups("SETS", starts_with="a")),
    ("SHOW BACKUP SETS IN SCHEMA limit", ShowBackups("SETS", schema=("limit",))),
    ("SHOW SNAPSHOT SETS IN ACCOUNT", ShowBackups("SETS", schema=None)),
    ("SHOW BACKUPS IN BACKUP SET s.b", ShowBackups("BACKUPS", ("s", "b"))),
    ("SHOW SNAPSHOTS IN SNAPSHOT SET b LIMIT 1", ShowBackups("BACKUPS", ("b",), limit=1)),
    ("DESCRIBE BACKUP POLICY p", DescribeBackups(Domain.BACKUP_POLICY, ("p",))),
    ("DESC BACKUP SET s.b;", DescribeBackups(Domain.BACKUP_SET, ("s", "b"))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "typed"), READ)
def test_says_what_the_statement_is(text, typed):
    """The whole value, so that a field that is read by mistake shows; each is ours."""
    assert typed_of(text) == typed
    assert parse(text).typed == typed
    assert is_own(parse(text))


@pytest.mark.parametrize(
    ("text", "clause", "problem", "way_out"),
    [
        ("CREATE BACKUP POLICY", "", "has no name", "behind the name"),
        ("CREATE BACKUP POLICY p SCHEDULE = 60", "SCHEDULE = 60", "no text in quotes", "SCHEDULE = '60 MIN"),
        ("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = '3'", "EXPIRE_AFTER_DAYS = '3'", "whole number", "= 30"),
        ("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = -3", "EXPIRE_AFTER_DAYS = -3", "whole number", "= 30"),
        ("CREATE BACKUP POLICY p COMMENT = 'x' COMMENT = 'y'", "COMMENT = 'y'", "twice", "leave one COMMENT"),
        ("CREATE BACKUP POLICY p WITH LOCK", "WITH LOCK", "goes on", "WITH RETENTION LOCK"),
        ("CREATE BACKUP POLICY p TAG g = 'v'", "", "list in brackets", "TAG (name = 'value')"),
        ("CREATE OR REPLACE BACKUP POLICY IF NOT EXISTS p", "IF NOT EXISTS p", "exclude", "leave one"),
        ("ALTER BACKUP POLICY p", "", "nothing of the policy", "SET SCHEDULE"),
        ("ALTER BACKUP POLICY p SET RETENTION LOCK", "SET RETENTION LOCK", "when it is created", "another"),
        ("ALTER BACKUP POLICY p UNSET WITH RETENTION LOCK", "UNSET WITH RETENTION LOCK", "created", "apply"),
        ("ALTER BACKUP POLICY p SET WEEKLY", "WEEKLY", "goes on", "EXPIRE_AFTER_DAYS"),
        ("ALTER BACKUP POLICY p RENAME TO", "", "has no name", "RENAME TO"),
        ("DROP BACKUP POLICY p CASCADE", "CASCADE", "goes on", "nothing behind the name"),
        ("CREATE BACKUP SET b", "", "what is backed up", "FOR TABLE t"),
        ("CREATE BACKUP SET b FOR VIEW v", "VIEW v", "of a table or of a schema", "FOR SCHEMA s"),
        ("CREATE BACKUP SET b FOR TABLE t FOR TABLE u", "FOR TABLE u", "twice", "leave one FOR"),
        ("CREATE BACKUP SET b FOR TABLE t WITH POLICY p", "WITH POLICY p", "goes on", "WITH BACKUP POLICY p"),
        ("ALTER BACKUP SET b", "", "goes on", "ADD BACKUP"),
        ("ALTER BACKUP SET b ADD BACKUP NOW", "NOW", "goes on", "ADD BACKUP"),
        ("ALTER BACKUP SET b APPLY POLICY p", "APPLY POLICY p", "goes on", "APPLY BACKUP POLICY p"),
        ("ALTER BACKUP SET b SUSPEND BACKUP", "", "suspended or resumed", "BACKUP CREATION POLICY"),
        ("ALTER BACKUP SET b DELETE BACKUP 'i'", "'i'", "no backup is named", "SHOW BACKUPS IN BACKUP SET"),
        ("ALTER BACKUP SET b DELETE BACKUP IDENTIFIER i", "IDENTIFIER i", "no text", "IDENTIFIER = '…'"),
        (
            "ALTER BACKUP SET b MODIFY BACKUP IDENTIFIER 'i' SET COMMENT = 'x'",
            "SET COMMENT = 'x'", "nothing else", "ADD LEGAL HOLD",
        ),
        ("ALTER BACKUP SET b UNSET RETENTION LOCK", "UNSET RETENTION LOCK", "goes on", "SET | UNSET COMMENT"),
        ("DROP BACKUP SET b RESTRICT", "RESTRICT", "goes on", "nothing behind the name"),
        ("CREATE TABLE x FROM BACKUP SET b", "", "no backup is named", "IDENTIFIER"),
        ("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i' AS SELECT 1", "AS SELECT 1", "goes on", "no more"),
        ("SHOW BACKUPS", "", "of which backup set", "SHOW BACKUPS IN BACKUP SET s"),
        ("SHOW BACKUP SETS LIKE x", "LIKE x", "no text in quotes", "pattern"),
        ("SHOW BACKUP SETS HISTORY", "HISTORY", "goes on", "LIMIT n"),
        ("DESCRIBE BACKUP SET s.b EXTENDED", "EXTENDED", "goes on", "nothing behind the name"),
    ],
)  # fmt: skip
def test_a_wrong_clause_is_named_with_the_way_out(text, clause, problem, way_out):
    """It is ours, so that no other parser answers with an error that names neither."""
    typed = typed_of(text)
    assert isinstance(typed, WrongBackupClause)
    assert typed.clause == clause
    assert problem in typed.problem
    assert way_out in typed.way_out
    assert is_own(parse(text))
    assert parse(text).statement_type == typed.kind


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE x FROM backup",
        "CREATE TABLE x FROM backup set SELECT a",
        "CREATE TABLE x AS SELECT 'FROM BACKUP SET b'",
        "CREATE TABLE backup (policy INT)",
        "DESCRIBE backup policy",
        "DESC backup set.x",
        "SELECT * FROM backup set",
        "DROP TABLE backup",
        "ALTER TABLE backup SET TBLPROPERTIES ('a' = 'b')",
    ],
)
def test_other_statements_are_none_of_these(text):
    """A table may be called backup, and a column policy or set."""
    assert not type(typed_of(text)).__module__.endswith("backups.statements")


@pytest.mark.parametrize(
    ("text", "kind", "targets", "names"),
    [
        ("CREATE BACKUP POLICY p EXPIRE_AFTER_DAYS = 1", "CREATE_BACKUP_POLICY", ["p"], ["c.s.p"]),
        ("CREATE BACKUP SET b FOR TABLE t", "CREATE_BACKUP_SET", ["b"], ["c.s.b", "c.s.t"]),
        ("CREATE BACKUP SET b FOR SCHEMA x", "CREATE_BACKUP_SET", ["b"], ["c.s.b", "c.x"]),
        ("ALTER BACKUP SET x.b ADD BACKUP", "ALTER_BACKUP_SET", ["x.b"], ["c.x.b"]),
        ("ALTER BACKUP SET b RENAME TO d", "RENAME_BACKUP_SET", ["b"], ["c.s.b"]),
        ("CREATE SCHEMA x FROM BACKUP SET b IDENTIFIER 'i'", "CREATE_SCHEMA", ["x"], ["c.x", "c.s.b"]),
        ("CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'", "CREATE_TABLE", ["x"], ["c.s.x", "c.s.b"]),
        ("SHOW BACKUPS IN BACKUP SET b", "SHOW", [], []),
    ],
)
def test_type_targets_and_names(text, kind, targets, names):
    """Of the record, whether the statement succeeds or fails."""
    statement = parse(text)
    assert statement.statement_type == kind
    assert [".".join(target.parts) for target in statement.targets] == targets
    assert list(names_in(statement, "c", "s")) == names
    assert statement.is_ddl == (kind != "SHOW")


def test_redaction_keeps_what_a_statement_is():
    """The id of a backup is a name; a comment and a schedule give way to strings."""
    rules = RedactionRules(literals=True)
    text = "CREATE TABLE x FROM BACKUP SET b IDENTIFIER 'i'"
    assert redact_sql(text, rules).text == text
    policy = "CREATE BACKUP POLICY p SCHEDULE = '1 HOUR' EXPIRE_AFTER_DAYS = 5 COMMENT = 'secret'"
    redacted = redact_sql(policy, rules).text
    assert "secret" not in redacted
    assert isinstance(typed_of(redacted), CreateBackupPolicy)
