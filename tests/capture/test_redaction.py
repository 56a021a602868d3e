"""Secrets on their way to the disk: nothing that the audit writes holds them."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager, suppress

import pytest

import audit
from audit.core.config import load
from audit.ingest.adopt import _completion
from audit.spark import jvm
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader
from audit.spark.redaction_patterns import _JavaPattern
from audit.spool import read_segment
from audit.testing import records
from lineage import parse
from tests.sessions import NO_TABLES

pytestmark = pytest.mark.spark

MARK = "hunter2"
STATEMENTS = (
    f"CREATE TABLE {{s}}.opts (a INT, b STRING) TBLPROPERTIES ('my.password' = '{MARK}', 'x' = 'kept')",
    f"ALTER TABLE {{s}}.opts SET TBLPROPERTIES ('my.password' = '{MARK}', 'x' = 'kept')",
    f"CREATE TABLE {{s}}.jdbc USING jdbc OPTIONS (url 'jdbc:none:{MARK}', dbtable 't', password '{MARK}')",
    f"SET spark.hadoop.fs.s3a.secret.key={MARK}",
    f"INSERT INTO {{s}}.opts SELECT a, concat(b, '{MARK}') AS token FROM {{s}}.opts",
    f"INSERT INTO {{s}}.opts SELECT 1, aes_decrypt(unhex('00'), '{MARK}{MARK}12')",
    f"SELECT password FROM {{s}}.opts WHERE password = '{MARK}'",
    f"SELEC '{MARK}' AS password",
    f"BEGIN INSERT INTO {{s}}.opts SELECT 1, '{MARK}' AS password; SET spark.x.token = '{MARK}'; END",
    f"EXECUTE IMMEDIATE 'INSERT INTO {{s}}.opts SELECT 1, \\'{MARK}\\' AS password'",
    f"COPY INTO {{s}}.opts FROM 'wasb://ann:{MARK}@nowhere/x' FILEFORMAT = PARQUET",
    f"SELECT * FROM delta.`s3x://ann:{MARK}@bucket/kept`",
    "SELECT '123-45-6789' AS ssn, a FROM {s}.opts",
)
LITERALS = (
    f"INSERT INTO {{s}}.opts VALUES (7301998, '{MARK}')",
    f"SELECT a FROM {{s}}.opts WHERE b = '{MARK}' OR a = 7301998",
    f"COMMENT ON TABLE {{s}}.opts IS '{MARK}'",
    f"ALTER TABLE {{s}}.opts ADD COLUMN c STRING COMMENT '{MARK}'",
    f"CREATE TAG {{s}}.g ALLOWED_VALUES '{MARK}'",
    f"CREATE MASKING POLICY {{s}}.p AS (v STRING) RETURNS STRING -> concat(v, '{MARK}')",
    f"SELECT CAST('{MARK}' AS INT)",
    f"SELECT assert_true(false, '{MARK}')",
)


@contextmanager
def audited(spark, root, **options):
    """A session whose Spark has a pattern of its own."""
    session = spark.newSession()
    session.conf.set("spark.sql.redaction.string.regex", r"\d{3}-\d{2}-\d{4}")
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user="ann", root=str(root), durable=False, **NO_TABLES, **options)
    yield session
    audit.detach(session)


def run(session, schema, statements):
    """All of them; many fail, as they are to."""
    session.sql(f"CREATE SCHEMA {schema}")
    for text in statements:
        with suppress(Exception):
            session.sql(text.format(s=schema)).collect()


def on_disk(root):
    """Every byte below a root."""
    return b"".join(path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file())


@pytest.fixture(scope="module")
def keys(spark, tmp_path_factory):
    """What a session has left with the default: its root, and its records."""
    root = tmp_path_factory.mktemp("keys")
    log = logging.getLogger("audit")
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(handler.format(record))
    log.addHandler(handler)
    with audited(spark, root) as session:
        run(session, "redacted_keys", STATEMENTS)
        for text in (
            "SELECT CAST(:p AS INT) AS password",
            "INSERT INTO redacted_keys.opts (a) VALUES (:token)",
        ):
            with suppress(Exception):
                session.sql(text, args={"p": MARK, "token": MARK}).collect()
        frame = session.table("redacted_keys.opts").where(f"b = 'token: {MARK}' OR b = '123-45-6789'")
        frame.where(f"b != 'password={MARK}'").collect()
        with suppress(Exception):
            frame.write.jdbc(
                f"jdbc:none://ann:{MARK}@h/x?password={MARK}", "t", properties={"password": MARK}
            )
        made = records(session)
        told.append(str(audit.coverage(session).failures))
        entries = [
            entry for path in (root / "spool").rglob("*/journal/*") for entry in read_segment(path).entries
        ]
        yield root, made, entries, told, session
        session.sql("DROP SCHEMA redacted_keys CASCADE")
    log.removeHandler(handler)


def test_no_secret_of_a_key_is_written(keys):
    """Neither in the spool, nor in a record, nor in a message."""
    root, made, _, told, _ = keys
    written = on_disk(root)
    assert MARK.encode() not in written
    assert b"123-45-6789" not in written
    assert MARK not in str(made)
    assert not [text for text in told if MARK in text]
    assert len([record for record in made if "redacted" in record.query.query_text]) >= len(STATEMENTS)
    (table,) = [
        r for r in made if r.query.query_type == "ALTER_TABLE" and r.query.execution_status == "SUCCESS"
    ]
    properties = json.loads(table.access[0].object_modified_by_ddl.properties)["properties"]
    assert properties["x"] == {"value": "kept"}
    assert "redacted" in properties["my.password"]["value"]


def test_a_redacted_statement_groups_by_its_true_text(keys):
    """By a hash that nobody can make without the key of the root; statements of one form share the other."""
    root, _, _, _, session = keys
    for value in ("one", "two", "one"):
        session.sql(
            f"SELECT a FROM redacted_keys.opts WHERE 'token' || b = '{value}' AND b = 'a' -- token: {value}"
        )
        session.sql(f"SET spark.app.token={value}")
    found = [r.query for r in records(session) if r.query.query_text.startswith("SET spark.app.token")]
    one, two, again = found
    assert one.query_hash == again.query_hash != two.query_hash
    assert one.query_parameterized_hash == two.query_parameterized_hash
    assert one.query_hash != parse("SET spark.app.token=one").query_hash
    assert (root / "hash.key").stat().st_mode & 0o077 == 0
    assert len((root / "hash.key").read_bytes()) == 32


def test_a_start_that_no_driver_has_finished_is_analysed_all_the_same(keys):
    """By the redacted text: what it reads and writes is what the live record has."""
    root, made, entries, _, session = keys
    starts = {entry.query_id: entry for entry in entries if entry.kind == "S"}
    ends = {entry.query_id: entry for entry in entries if entry.kind == "E"}
    config = load({"root": str(root)})
    catalog = SessionCatalog(session, PlanFactsReader(jvm.view(session.sparkContext)))
    complete = _completion(catalog, config)
    compared = 0
    for record in made:
        if record.access and record.query.query_type == "INSERT" and record.query.query_id in starts:
            row = complete(starts[record.query.query_id], ends[record.query.query_id], ())
            assert row["query"]["query_hash"] == record.query.query_hash
            written = [one["objectName"] for one in row["access"][0]["objects_modified"]]
            assert written == [one.objectName for one in record.access[0].objects_modified]
            compared += 1
    assert compared


def test_all_literals_stay_away_where_that_is_asked(spark, tmp_path):
    """Of text, plans, properties and errors; a query's lineage is what it is."""
    with audited(spark, tmp_path, redact="literals") as session:
        run(session, "redacted_all", STATEMENTS + LITERALS)
        session.table("redacted_all.opts").where(f"b = '{MARK}' AND a IN (7301998, 2)").collect()
        made = records(session)
        for secret in (MARK, "7301998", "123-45-6789"):
            assert secret.encode() not in on_disk(tmp_path / "spool")
            assert secret not in str(made)
        (insert,) = [r for r in made if "VALUES (0" in r.query.query_text]
        assert insert.access[0].objects_modified[0].objectName == "spark_catalog.redacted_all.opts"
        session.sql("DROP SCHEMA redacted_all CASCADE")


def test_a_pattern_that_only_java_reads_is_asked_of_java(spark):
    r"""Spark's settings are Java's: possessive quantifiers, \Q…\E, flags in the middle."""
    pattern = _JavaPattern(jvm.view(spark.sparkContext), r"x\Q.$\E|(?<a>p)(?i)IN")
    assert pattern.search("a pIn")
    assert not pattern.search("a bin")
    assert pattern.sub(lambda _: r"$1\*", "x.$ and pin") == r"$1\* and $1\*"
