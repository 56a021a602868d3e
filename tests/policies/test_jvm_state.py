"""What enforcement puts into a JVM for all, functions and rules; several roots in one JVM."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pyspark.errors import AnalysisException

import audit
from audit.policies.errors import AccessDeniedError
from audit.spark import jvm

FUNCTIONS = ("current_role", "invoker_role", "current_account", "is_role_in_session", "is_member")


def rules(session):
    """The classes of a session's rules of normalisation."""
    found = session._jsparkSession.sessionState().planNormalizationRules()
    return [found.apply(i).getClass().getName() for i in range(found.size())]


def functions(registry):
    """Which names of context functions a registry has, and what makes them."""
    names = registry.listFunction()
    found = {names.apply(i).funcName(): names.apply(i) for i in range(names.size())}
    held = {name: found[name] for name in FUNCTIONS if name in found}
    return {name: registry.lookupFunctionBuilder(id_).get().hashCode() for name, id_ in held.items()}


def state(session):
    """All that an attach adds to."""
    builtin = jvm.java_class(
        session.sparkContext, "org.apache.spark.sql.catalyst.analysis.FunctionRegistry"
    ).builtin()
    own = session._jsparkSession.sessionState().functionRegistry()
    builders = session._jsparkSession.extensions().buildPlanNormalizationRules(session._jsparkSession)
    derived = rules(session.newSession())
    return rules(session), derived, builders.size(), functions(builtin), functions(own)


def attached(spark, root, user):
    """A new session of an administrator's under a root of its own."""
    session = spark.newSession()
    session.conf.set("spark.sql.sources.default", "delta")
    audit.attach(session, user=user, root=str(root), schema=f"usage_{user}")
    return session


def test_the_last_detach_leaves_the_jvm_as_it_was(spark, tmp_path):
    """Rules and functions, built-in ones too, are after the last detach what they were before the attach."""
    session = spark.newSession()
    before = state(session)
    audit.attach(session, user="ann", root=str(tmp_path))
    try:
        child = session.newSession()
        assert session.sql("SELECT current_role()").first()[0] == "PUBLIC"
        assert state(session) != before
    finally:
        audit.detach(session)
        session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")
    assert state(session) == before
    assert state(child) == before
    for one in (session, child, session.newSession()):
        with pytest.raises(AnalysisException, match="UNRESOLVED_ROUTINE"):
            one.sql("SELECT current_role()").collect()


def test_a_users_own_function_stands_again(spark, tmp_path):
    """A temporary function `current_role` of before the attach is the session's again after the detach."""
    session = spark.newSession()
    session.sql("CREATE TEMPORARY FUNCTION current_role() RETURNS STRING RETURN 'mine'")
    audit.attach(session, user="ann", root=str(tmp_path))
    assert session.sql("SELECT current_role()").first()[0] == "PUBLIC"
    audit.detach(session)
    session.sql("DROP SCHEMA IF EXISTS account_usage CASCADE")
    assert session.sql("SELECT current_role()").first()[0] == "mine"


@pytest.mark.slow("two roots")
def test_two_roots_of_one_jvm_answer_each_for_its_own(spark, tmp_path):
    """Users, roles and policies of a root are that root's: in its sessions, their clones, on one thread."""
    one = attached(spark, tmp_path / "one", "ann")
    other = attached(spark, tmp_path / "other", "bob")
    try:
        one.sql("CREATE ROLE reader")
        one.sql("GRANT ROLE reader TO USER ann")
        one.sql("USE ROLE reader")
        ask = "SELECT current_user(), current_role()"
        assert tuple(one.sql(ask).first()) == ("ann", "READER")
        assert tuple(other.sql(ask).first()) == ("bob", "PUBLIC")
        assert tuple(one.sql(ask).first()) == ("ann", "READER")
        one.sql("CREATE OR REPLACE VIEW asks AS SELECT current_role() AS role")
        assert other.table("asks").first()[0] == "PUBLIC"
        assert one.table("asks").first()[0] == "READER"
        other.sql("CREATE TABLE secrets (v STRING)")
        other.sql("INSERT INTO secrets VALUES ('x')")
        other.sql("CREATE MASKING POLICY none AS (v STRING) RETURNS STRING -> 'masked'")
        other.sql("ALTER TABLE secrets ALTER COLUMN v SET MASKING POLICY none")
        assert other.table("secrets").first()[0] == "masked"
        # Of the other root's policies this one knows nothing.
        one.sql("CREATE TABLE copies AS SELECT v, current_role() AS role FROM secrets")
        assert tuple(one.table("copies").first()) == ("x", "READER")
        audit.detach(one)
        assert tuple(other.sql(ask).first()) == ("bob", "PUBLIC")
        assert other.table("secrets").first()[0] == "masked"
    finally:
        audit.detach(one)
        audit.detach(other)
        for name in ("secrets", "copies"):
            spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql("DROP VIEW IF EXISTS asks")
        for schema in ("usage_ann", "usage_bob"):
            spark.sql(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


LOOK_UPS = (
    "EXISTS (SELECT 1 FROM areas_0 WHERE area = r)",
    "r IN (TABLE areas_1)",
    "EXISTS (FROM areas_2 |> WHERE area = r)",
    "r = top_area()",
)


@pytest.mark.long("attaches twice; test_inputs has one driver")
def test_what_a_policy_reads_is_known_before_it_is_asked(spark, tmp_path):
    """In a new driver, too, only administrators change what the body of a policy looks up."""
    session = attached(spark, tmp_path, "ann")
    session.sql("CREATE SCHEMA walls")
    try:
        session.sql("USE walls")
        for number in range(len(LOOK_UPS)):
            session.sql(f"CREATE TABLE areas_{number} AS SELECT 'eu' AS area")
        session.sql("CREATE FUNCTION top_area() RETURNS STRING RETURN (SELECT max(area) FROM walls.areas_3)")
        for number, body in enumerate(LOOK_UPS):
            session.sql(f"CREATE TABLE t_{number} AS SELECT 'us' AS region")
            session.sql(f"CREATE ROW ACCESS POLICY shown_{number} AS (r STRING) RETURNS BOOLEAN -> {body}")
            session.sql(f"ALTER TABLE t_{number} ADD ROW ACCESS POLICY shown_{number} ON (region)")
        audit.detach(session)
        session = attached(spark, tmp_path, "ann")
        for number in range(len(LOOK_UPS)):
            refused = f"shown_{number} reads what this statement changes"
            with audit.as_user(session, "eve"), pytest.raises(AccessDeniedError, match=refused):
                session.sql(f"INSERT INTO walls.areas_{number} VALUES ('us')")
            assert session.table(f"walls.t_{number}").count() == 0
    finally:
        session.sql("DROP SCHEMA walls CASCADE")
        audit.detach(session)
        spark.sql("DROP SCHEMA IF EXISTS usage_ann CASCADE")


def parser(session):
    """The class of a session's parser."""
    return session._jsparkSession.sessionState().sqlParser().getClass().getSimpleName()


def test_the_parser_goes_with_the_last_detach(spark, tmp_path):
    """Sessions have the parsers that they had."""
    session = spark.newSession()
    before = parser(session), parser(spark.newSession())
    java = session._jsparkSession
    audit.attach(session, user="ann", root=str(tmp_path), ingest="external")
    try:
        assert parser(session) == parser(session.newSession()) == "StatementParser"
        java.sql("SHOW TABLES HISTORY")
    finally:
        audit.detach(session)
    assert (parser(session), parser(spark.newSession())) == before


PLAIN = """
import os, sys
from pyspark.sql import SparkSession
import audit
from audit.spark.embedded import jars
folder = sys.argv[1]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.driver.extraClassPath", os.pathsep.join(map(str, jars.resolve(os.environ))))
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.databricks.delta.snapshotPartitions", "1")
    .getOrCreate()
)
parser = lambda of: of._jsparkSession.sessionState().sqlParser().getClass().getSimpleName()
print(parser(spark))
audit.attach(spark, user="ann", root=f"{folder}/audit", ingest="external")
print(parser(spark), parser(spark.newSession()))
spark.sql("CREATE TABLE t (a INT) USING delta")
try:
    spark.sql("BEGIN IF 1 = 1 THEN VACUUM t RETAIN 0 HOURS; END IF; END")
except Exception as error:
    print(type(error).__name__)
audit.detach(spark)
print(parser(spark), parser(spark.newSession()))
try:
    spark.sql("UNDROP TABLE t")
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.spark
@pytest.mark.slow("a JVM of its own")
def test_a_session_of_ones_own(tmp_path):
    """Where no setting names the extension, attach brings the parser, and detach takes it away."""
    command = [sys.executable, "-c", PLAIN, str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout.splitlines() == [
        "DeltaSqlParser", "StatementParser StatementParser", "RetainedError", "DeltaSqlParser DeltaSqlParser",
        "ParseException",
    ], done.stderr  # fmt: skip
