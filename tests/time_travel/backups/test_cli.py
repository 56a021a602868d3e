"""`audit backup run | verify | restore | estimate`, and `audit storage`, over the embedded metastore."""

from __future__ import annotations

import getpass
import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from audit import attached_sessions
from audit.cli import main
from audit.core.clock import SystemClock
from audit.query.tables import opened
from audit.testing import records
from audit.time_travel.backups.service import Backups
from audit.time_travel.errors import BackupStoreError
from tests.sessions import NO_TABLES, attached

pytestmark = [
    pytest.mark.spark,
    pytest.mark.hive("the commands look for the embedded metastore"),
    pytest.mark.long("a JVM of its own with a metastore"),
]

HOUR = 3_600_000_000


class Behind(SystemClock):
    """Two hours behind: what is scheduled by it each hour is due for a command, whose clock is right."""

    def now(self):
        """UTC microseconds."""
        return super().now() - 2 * HOUR


@pytest.fixture(scope="module")
def root(spark):
    """Of the embedded session: where its metastore is."""
    return Path(spark.conf.get("spark.audit.root"))


@pytest.fixture(scope="module")
def session(spark, root):
    """Its audit is under the root of the metastore, where a command finds both."""
    with attached(spark, root, clock=Behind(), **NO_TABLES) as found:
        yield found


def answer(*arguments, root):
    """Exit code, what a command says on stdout, and on stderr."""
    found = CliRunner().invoke(main, [*arguments, "--root", str(root)])
    return found.exit_code, found.stdout, found.stderr


def test_from_the_schedule_to_a_damage(session, schema, root):
    """What is due, with its bytes; its backup, once; what it keeps; a file that somebody changed."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(1000)")
    size = session.sql("DESCRIBE DETAIL t").first().sizeInBytes
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("CREATE BACKUP SET s FOR TABLE t WITH BACKUP POLICY p")
    name = f"spark_catalog.{schema}.s"
    code, said, _ = answer("backup", "run", "--dry-run", "--json", root=root)
    (due,) = json.loads(said)
    assert (code, due["what"], due["backup set"], due["bytes"]) == (0, "DUE", name, size)
    code, said, _ = answer("backup", "run", "--json", root=root)
    (made,) = json.loads(said)
    assert (code, made["what"], made["backup set"], made["bytes"]) == (0, "CREATED", name, size)
    code, _, told = answer("backup", "run", root=root)
    assert (code, "No backup is due" in told) == (0, True)

    code, said, _ = answer("backup", "verify", root=root)
    assert (code, said.startswith("All files of 1 backup are as they were: ")) == (0, True)
    own = json.loads(answer("storage", "--json", root=root)[1])[0]["backups"]
    assert 0 < own < size + 50_000  # its log and its manifest: the table has the data
    session.sql("DROP TABLE t")
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 0")
    backups = attached_sessions.find(session).services.backups
    (found,) = backups.log.state().all_backups()
    place = backups.files.of(found)
    folder = Path(place.store.location(place.folder))
    for data in folder.glob("tables/0000/*.parquet"):
        copy = data.read_bytes()
        data.unlink()
        data.write_bytes(copy)  # now nothing else has it
    assert json.loads(answer("storage", "--json", root=root)[1])[0]["backups"] >= own + size
    code, said, _ = answer("storage", root=root)
    assert "Backups keep" in said
    data.write_bytes(b"x" * len(copy))
    code, said, told = answer("backup", "verify", root=root)
    assert (code, "hash" in said, "Damaged: 1 of 1 backup" in told) == (1, True, True)
    code, said, _ = answer("backup", "verify", f"{schema}.s", "--json", root=root)
    (row,) = json.loads(said)
    assert (code, row["damages"]) == (1, [{"file": f"tables/0000/{data.name}", "problem": "hash"}])


def test_watching(session, schema, root, monkeypatch):
    """A run that fails is told, the next one makes what is due, which is on record; SIGTERM ends it."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("CREATE BACKUP SET s FOR TABLE t WITH BACKUP POLICY p")
    run_schedules, turns = Backups.run_schedules, []

    def fails_once(self, actor, watch):
        if not turns:
            raise BackupStoreError("the bucket does not answer", "try again later")
        yield from run_schedules(self, actor, watch)

    def sleep(seconds):
        turns.append(seconds)
        if len(turns) == 3:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Backups, "run_schedules", fails_once)
    monkeypatch.setattr("audit.cli.time_travel.backup.time", SimpleNamespace(sleep=sleep))
    code, said, told = answer("backup", "run", "--watch", "--every", "30", "--json", root=root)
    monkeypatch.undo()
    assert (code, turns) == (128 + signal.SIGTERM, [30, 30, 30])
    assert "the next one tries again: [BACKUP_STORE] the bucket does not answer" in told
    (made,) = json.loads(said)  # the third run had nothing to do
    assert made["what"] == "CREATED"

    assert answer("ingest", root=root)[0] == 0
    query = (
        "SELECT h.user_name, h.action, h.role_name, a.object_modified_by_ddl.objectName,"
        " get_json_object(a.object_modified_by_ddl.properties, '$.backups.%s.subOperationType')"
        " FROM account_usage.query_history h JOIN account_usage.access_history a USING (query_id)"
        f" WHERE h.query_text = 'ALTER BACKUP SET `spark_catalog`.`{schema}`.`s` ADD BACKUP'"
    )
    with opened(str(root)) as tables:
        found = tables.ask(query % made["backup"], {}).rows
    name = f"spark_catalog.{schema}.s"
    assert found == [(getpass.getuser(), "audit backup run", "ACCOUNTADMIN", name, "ADD")]


def test_a_bucket_that_does_not_answer(root, session, schema, monkeypatch):
    """What tables hold is shown all the same, and what is not known is named."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    monkeypatch.setenv("AUDIT_BACKUP_LOCATION", "s3a://kept/audit")
    for name, value in (
        ("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret"), ("AWS_MAX_ATTEMPTS", "1"),
        ("AWS_DEFAULT_REGION", "us-east-1"), ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    code, said, told = answer("storage", "--json", root=root)
    assert (code, json.loads(said)[0]["backups"]) == (0, None)
    assert "What backups keep is not known" in told
    assert "kept" in told


def test_restoring(session, schema, root):
    """What would be made, without Spark; then it is made, and on record; a table in its place, a schema."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(0, 1000, 1, 1)")
    session.sql("CREATE VIEW v AS SELECT count(*) AS n FROM t")
    size = session.sql("DESCRIBE DETAIL t").first().sizeInBytes
    session.sql("CREATE BACKUP SET s FOR TABLE t")
    code, _, told = answer("backup", "restore", f"{schema}.s", f"{schema}.u", root=root)
    assert (code, "ADD BACKUP makes one" in told) == (2, True)
    session.sql("ALTER BACKUP SET s ADD BACKUP")
    session.sql("INSERT INTO t VALUES (1)")
    session.sql("ALTER BACKUP SET s ADD BACKUP")
    first = session.sql("SHOW BACKUPS IN BACKUP SET s").orderBy("created_on").first().backup_id

    asked = ("backup", "restore", f"{schema}.s", f"{schema}.u", "--identifier", first)
    code, said, _ = answer(*asked, "--dry-run", "--json", root=root)
    row = {"object": "t", "kind": "TABLE", "version": 0, "files": 1, "bytes": size}
    assert (code, json.loads(said)) == (0, [row])
    assert not session.catalog.tableExists(f"{schema}.u")
    code, said, _ = answer(*asked, root=root)
    assert (code, said) == (0, "Table u successfully restored.\n")
    assert session.table("u").count() == 1000
    code, _, told = answer(*asked, root=root)
    assert (code, "CREATE OR REPLACE TABLE" in told) == (2, True)
    code, said, _ = answer(
        "backup", "restore", f"{schema}.s", f"{schema}.u", "--replace", "--json", root=root
    )
    assert (code, json.loads(said)[0]["bytes"] > size) == (0, True)
    assert session.table("u").count() == 1001
    backup_set = f"`spark_catalog`.`{schema}`.`s`"
    text = f"CREATE TABLE `{schema}`.`u` FROM BACKUP SET {backup_set} IDENTIFIER '{first}'"
    done = [one.query for one in records(session) if one.query.query_text == text]
    assert [(one.user_name, one.role_name, one.execution_status) for one in done] == [
        (getpass.getuser(), "ACCOUNTADMIN", status) for status in ("SUCCESS", "FAIL")
    ]

    session.sql("CREATE SCHEMA IF NOT EXISTS kept")
    session.sql(f"CREATE BACKUP SET kept.s FOR SCHEMA {schema}")
    session.sql("ALTER BACKUP SET kept.s ADD BACKUP")
    asked = ("backup", "restore", "kept.s", f"{schema}_again")
    held = json.loads(answer(*asked, "--dry-run", "--json", root=root)[1])
    assert {(one["object"], one["kind"]) for one in held} == {("t", "TABLE"), ("u", "TABLE"), ("v", "VIEW")}
    assert answer(*asked, root=root)[:2] == (0, f"Schema {schema}_again successfully restored.\n")
    assert session.table(f"{schema}_again.v").collect() == [(1001,)]
    session.sql(f"DROP SCHEMA {schema}_again CASCADE")
    session.sql("DROP SCHEMA kept CASCADE")


def test_an_estimate(session, schema, root):
    """Bytes now, and what a year of daily backups would bind."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(1000)")
    code, said, _ = answer("backup", "estimate", f"{schema}.t", "--days", "10", "--json", root=root)
    (row,) = json.loads(said)
    assert (code, row["days"]) == (0, 10)
    assert row["bytes bound"] == row["bytes now"] + 10 * row["bytes that change a day"]
    for number in (1, 2):
        session.sql(f"CREATE TABLE t{number} AS SELECT id FROM range(1000)")
    code, said, _ = answer("backup", "estimate", schema, "--schema", "--json", root=root)
    (of_schema,) = json.loads(said)
    assert (code, of_schema["bytes now"]) == (0, 3 * row["bytes now"])
    code, _, told = answer("backup", "estimate", f"{schema}.nosuch", root=root)
    assert (code, "nosuch" in told) == (2, True)


def test_a_set_that_is_not_there(root, session):
    """It is named."""
    code, _, told = answer("backup", "verify", "a.nosuch", root=root)
    assert (code, "a.nosuch" in told, "SHOW BACKUP SETS" in told) == (2, True, True)


def test_a_failure_is_an_exit_code(session, schema, root):
    """What is due and cannot be made is told, and exit code 1."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE BACKUP POLICY p SCHEDULE = '60 MINUTE'")
    session.sql("CREATE BACKUP SET s FOR TABLE t WITH BACKUP POLICY p")
    session.sql("DROP TABLE t")
    for form in ([], ["--dry-run"]):
        code, said, _ = answer("backup", "run", "--json", *form, root=root)
        (row,) = json.loads(said)
        assert (code, row["what"], "t of backup set" in row["problem"]) == (1, "FAILED", True)
