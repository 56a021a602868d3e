"""What policies ask for is not changed by whom they hide from: columns, tables that bodies read."""

from __future__ import annotations

from contextlib import suppress

import pytest

import audit
from audit.policies.errors import AccessDeniedError
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"


@pytest.fixture(scope="module")
def guarded(session):
    """Policies by a column of the table's own, by a mapping table, and of a struct; mallory has no role."""
    run = session.sql
    run("CREATE SCHEMA gov")
    run("CREATE SCHEMA work")
    run("CREATE TABLE gov.map (area STRING)")
    run("INSERT INTO gov.map VALUES ('eu')")
    run(
        "CREATE MASKING POLICY gov.by_level AS (v STRING, l STRING) RETURNS STRING ->"
        " CASE WHEN l = 'public' THEN v ELSE '***' END"
    )
    run("CREATE MASKING POLICY gov.hush AS (v STRING) RETURNS STRING -> '***'")
    run(
        "CREATE MASKING POLICY gov.inside AS (v STRUCT<a: STRING>) RETURNS STRUCT<a: STRING> ->"
        " named_struct('a', '***')"
    )
    run(
        "CREATE ROW ACCESS POLICY gov.mapped AS (r STRING) RETURNS BOOLEAN ->"
        " EXISTS (SELECT 1 FROM map WHERE area = r)"
    )
    run("CREATE ROW ACCESS POLICY gov.eu AS (r STRING) RETURNS BOOLEAN -> r = 'eu'")
    yield
    run("USE default")
    run("DROP SCHEMA work CASCADE")
    run("DROP SCHEMA gov CASCADE")


def _refused(session, *texts):
    done = []
    for text in texts:
        with audit.as_user(session, "mallory"), suppress(AccessDeniedError):
            session.sql(text).collect()
            done.append(text)
    assert done == []


def _seen(session, text):
    with audit.as_user(session, "mallory"):
        return sorted(map(tuple, session.sql(text).collect()), key=str)


@pytest.mark.slow("each change is a statement over a table")
def test_the_columns_of_a_conditional_mask(session, guarded):
    """The column that decides over a mask is set by nobody whom the mask hides from, and stays."""
    run = session.sql
    run(f"CREATE TABLE work.p (id INT, name STRING, level STRING) {MAPPED}")
    run("INSERT INTO work.p (id, name, level) VALUES (1, 'secret', 'high'), (2, 'open', 'public')")
    run("ALTER TABLE work.p ALTER COLUMN name SET MASKING POLICY gov.by_level USING (name, level)")
    hidden = [(1, "***"), (2, "open")]
    assert _seen(session, "SELECT id, name FROM work.p") == hidden
    with audit.as_user(session, "mallory"):
        run("CREATE TABLE work.copy CLONE work.p")
    for table, tried in (("work.p", 6), ("work.copy", 4)):
        texts = (
            f"UPDATE {table} SET level = 'public'",
            (
                f"MERGE INTO {table} t USING (SELECT 1 i) s ON t.id = s.i"
                " WHEN MATCHED THEN UPDATE SET level = 'public'"
            ),
            (
                f"MERGE INTO {table} t USING (SELECT 9 i) s ON t.id = s.i"
                " WHEN NOT MATCHED BY SOURCE THEN UPDATE SET level = 'public'"
            ),
            f"ALTER TABLE {table} DROP COLUMN level",
            f"ALTER TABLE {table} DROP COLUMNS (id, level)",
            f"ALTER TABLE {table} DROP COLUMN name",
        )
        _refused(session, *texts[:tried])
        assert _seen(session, f"SELECT id, name FROM {table}") == hidden
    with audit.as_user(session, "mallory"):
        run("UPDATE work.p SET id = 7 WHERE id = 2")
        run("ALTER TABLE work.p RENAME COLUMN level TO other")
        run("ALTER TABLE work.p ADD COLUMN level STRING")
        run("INSERT INTO work.p (id, name, level, other) VALUES (9, 'mine', 'public', 'high')")
    assert _seen(session, "SELECT id, name FROM work.p") == [(1, "***"), (7, "open"), (9, "***")]


def test_a_generated_column_decides(session, guarded):
    """What a deciding column is generated from decides, too."""
    run = session.sql
    run(
        "CREATE TABLE work.g"
        " (id INT, name STRING, base STRING, level STRING GENERATED ALWAYS AS (lower(base)))"
    )
    run("INSERT INTO work.g (id, name, base) VALUES (1, 'secret', 'HIGH')")
    run("ALTER TABLE work.g ALTER COLUMN name SET MASKING POLICY gov.by_level USING (name, level)")
    _refused(session, "UPDATE work.g SET base = 'PUBLIC'")
    assert _seen(session, "SELECT name FROM work.g") == [("***",)]


def test_the_column_of_a_row_policy(session, guarded):
    """It is not replaced by another one."""
    run = session.sql
    run(f"CREATE TABLE work.r (id INT, region STRING, other STRING) {MAPPED}")
    run("INSERT INTO work.r VALUES (1, 'eu', 'eu'), (2, 'us', 'eu')")
    run("ALTER TABLE work.r ADD ROW ACCESS POLICY gov.eu ON (region)")
    _refused(
        session, "ALTER TABLE work.r DROP COLUMN region", "ALTER TABLE work.r DROP COLUMNS (region, other)"
    )
    with audit.as_user(session, "mallory"):
        run("CREATE TABLE work.cloned CLONE work.r")
    _refused(
        session,
        "ALTER TABLE work.cloned DROP COLUMN region",
        "ALTER TABLE work.cloned DROP COLUMNS (id, region)",
    )
    assert _seen(session, "SELECT id FROM work.cloned") == [(1,)]
    with audit.as_user(session, "mallory"):
        run("ALTER TABLE work.r RENAME COLUMN region TO was")
        run("ALTER TABLE work.r RENAME COLUMN other TO region")
    assert _seen(session, "SELECT id FROM work.r") == [(1,)]


def test_a_struct_that_gets_a_field(session, guarded):
    """Nobody makes a masked struct unreadable: ADD COLUMN is refused, and what came by a write is NULL."""
    run = session.sql
    run("CREATE TABLE work.s (id INT, profile STRUCT<a: STRING>)")
    run("INSERT INTO work.s SELECT 1, named_struct('a', 'secret')")
    run("ALTER TABLE work.s ALTER COLUMN profile SET MASKING POLICY gov.inside")
    _refused(
        session, "ALTER TABLE work.s ADD COLUMN profile.x STRING", "ALTER TABLE work.s DROP COLUMN profile.a"
    )
    with audit.as_user(session, "mallory"):
        frame = session.sql("SELECT 2 AS id, named_struct('a', 'm', 'x', 'n') AS profile")
        frame.write.format("delta").mode("append").option("mergeSchema", "true").saveAsTable("work.s")
    assert _seen(session, "SELECT id, profile FROM work.s") == [(1, None), (2, None)]


def test_how_files_lie(session, guarded):
    """Files are sorted by no masked column, and nobody asks OPTIMIZE where hidden rows are."""
    run = session.sql
    run("CREATE TABLE work.z (id INT, name STRING, region STRING) CLUSTER BY (id)")
    run("CREATE TABLE work.q (id INT, name STRING, region STRING) PARTITIONED BY (region)")
    run("INSERT INTO work.q VALUES (1, 'secret', 'eu'), (2, 'other', 'us')")
    run("CREATE TABLE work.y (id INT, name STRING)")
    for table in ("z", "q", "y"):
        run(f"ALTER TABLE work.{table} ALTER COLUMN name SET MASKING POLICY gov.hush")
    run("ALTER TABLE work.q ADD ROW ACCESS POLICY gov.eu ON (region)")
    _refused(
        session,
        "ALTER TABLE work.z CLUSTER BY (name)",
        "OPTIMIZE work.q ZORDER BY (name)",
        "OPTIMIZE work.y ZORDER BY (name)",
        "OPTIMIZE work.q ZORDER BY (id)",
        "OPTIMIZE work.q WHERE region = 'us'",
        "REORG TABLE work.q WHERE region = 'us' APPLY (PURGE)",
    )
    with audit.as_user(session, "mallory"):
        run("OPTIMIZE work.q")
        run("ALTER TABLE work.z CLUSTER BY (region)")


def test_explain_tells_no_sizes(session, guarded):
    """The way in which Spark would join tells how much of the files a condition finds."""
    run = session.sql
    run("CREATE TABLE work.e (id INT, region STRING)")
    run("INSERT INTO work.e VALUES (1, 'eu'), (2, 'us')")
    run("ALTER TABLE work.e ADD ROW ACCESS POLICY gov.eu ON (region)")
    text = "SELECT /*+ MERGE(b) */ a.id FROM work.e a JOIN work.e b ON a.id = b.id WHERE a.id = 2"
    for mode in ("", "EXTENDED", "FORMATTED", "CODEGEN"):
        _refused(session, f"EXPLAIN {mode} {text}")
    with audit.as_user(session, "mallory"):
        frame = session.sql(text)
        for mode in ("simple", "extended", "formatted"):
            with pytest.raises(AccessDeniedError):
                frame.explain(mode)
        session.sql("SELECT id FROM work.e").explain()
        session.sql("EXPLAIN SELECT id FROM work.e").collect()


@pytest.mark.slow("a mapping table comes and goes")
def test_the_tables_that_bodies_read(session, guarded, tmp_path):
    """A mapping table is the administrators': its rows, its files, its name and its schema."""
    run = session.sql
    run("CREATE TABLE work.m (id INT, region STRING)")
    run("INSERT INTO work.m VALUES (1, 'eu'), (2, 'us')")
    run("ALTER TABLE work.m ADD ROW ACCESS POLICY gov.mapped ON (region)")
    run("CREATE TABLE work.source (area STRING)")
    run("INSERT INTO work.source VALUES ('us')")
    place = run("DESCRIBE DETAIL gov.map").first().location

    def stream(path, table=None):
        writer = session.readStream.table("work.source").writeStream.format("delta")
        writer = writer.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
        (writer.start(path) if table is None else writer.toTable(table)).awaitTermination()

    with audit.as_user(session, "mallory"):
        for attempt in (lambda: stream(place), lambda: stream(None, "gov.map")):
            with pytest.raises(AccessDeniedError):
                attempt()
        with pytest.raises(AccessDeniedError):
            session.catalog.dropDatabase("gov", cascade=True)
        with pytest.raises(AccessDeniedError):
            session.catalog.dropTable("gov.map")
    _refused(
        session,
        "DROP SCHEMA gov CASCADE",
        "ALTER TABLE gov.map RENAME TO gov.other",
        f"INSERT INTO delta.`{place}` VALUES ('us')",
        f"CREATE TABLE work.f (area STRING) USING parquet LOCATION '{place}'",
    )
    assert _seen(session, "SELECT id FROM work.m") == [(1,)]
    run("DROP TABLE gov.map")
    with audit.as_user(session, "mallory"):
        run("CREATE TABLE work.own (area STRING)")
        run("CREATE TABLE gov.own AS SELECT 'us' AS area")
        run("INSERT INTO work.own VALUES ('us')")
    _refused(
        session,
        "CREATE TABLE gov.map (area STRING)",
        "CREATE TABLE gov.map AS SELECT 'us' AS area",
        "CREATE VIEW gov.map AS SELECT 'us' AS area",
        "CREATE TABLE gov.map CLONE work.own",
        "ALTER TABLE work.own RENAME TO gov.map",
        "ALTER TABLE gov.own RENAME TO gov.map",
    )
    with audit.as_user(session, "mallory"), pytest.raises(AccessDeniedError):
        session.sql("SELECT 'us' AS area").write.saveAsTable("gov.map")
    run("USE gov")
    run("UNDROP TABLE map")
    run("USE default")
    assert _seen(session, "SELECT id FROM work.m") == [(1,)]


@pytest.mark.slow("views and functions are replaced, dropped and renamed, each by two users")
def test_the_functions_and_views_that_bodies_read(session, guarded):
    """A view or a function that a body reads is the administrators', too, at any depth."""
    run = session.sql
    run("CREATE TABLE gov.areas (area STRING)")
    run("INSERT INTO gov.areas VALUES ('eu')")
    run("CREATE VIEW gov.shown AS SELECT area FROM gov.areas")
    run("CREATE FUNCTION gov.inner_one(r STRING) RETURNS BOOLEAN RETURN r = 'eu'")
    run("CREATE FUNCTION gov.outer_one(r STRING) RETURNS BOOLEAN RETURN gov.inner_one(r)")
    run("CREATE FUNCTION gov.of_rows() RETURNS TABLE (area STRING) RETURN SELECT area FROM gov.shown")
    bodies = {
        "call": "outer_one(r)",
        "view": "EXISTS (SELECT 1 FROM shown WHERE area = r)",
        "rows": "EXISTS (SELECT 1 FROM of_rows() WHERE area = r)",
    }
    for name, body in bodies.items():
        run(f"CREATE ROW ACCESS POLICY gov.by_{name} AS (r STRING) RETURNS BOOLEAN -> {body}")
        run(f"CREATE TABLE work.of_{name} (id INT, region STRING)")
        run(f"INSERT INTO work.of_{name} VALUES (1, 'eu'), (2, 'us')")
        run(f"ALTER TABLE work.of_{name} ADD ROW ACCESS POLICY gov.by_{name} ON (region)")
    everything = "RETURNS TABLE (area STRING) RETURN SELECT 'us' AS area"
    _refused(
        session,
        "CREATE OR REPLACE FUNCTION gov.outer_one(r STRING) RETURNS BOOLEAN RETURN true",
        "CREATE OR REPLACE FUNCTION gov.inner_one(r STRING) RETURNS BOOLEAN RETURN true",
        f"CREATE OR REPLACE FUNCTION gov.of_rows() {everything}",
        "DROP FUNCTION gov.outer_one",
        "DROP FUNCTION IF EXISTS spark_catalog.gov.inner_one",
        "DROP FUNCTION gov.of_rows",
        "CREATE OR REPLACE VIEW gov.shown AS SELECT 'us' AS area",
        "ALTER VIEW gov.shown AS SELECT 'us' AS area",
        "ALTER VIEW gov.shown RENAME TO gov.other",
        "DROP VIEW gov.shown",
        "INSERT INTO gov.areas VALUES ('us')",
        "DROP SCHEMA gov CASCADE",
    )
    for name in bodies:
        assert _seen(session, f"SELECT id FROM work.of_{name}") == [(1,)]
    run("DROP FUNCTION gov.of_rows")
    _refused(session, f"CREATE FUNCTION gov.of_rows() {everything}")
    run("USE gov")
    run("UNDROP FUNCTION of_rows")
    run("USE default")
    run("CREATE OR REPLACE FUNCTION gov.inner_one(r STRING) RETURNS BOOLEAN RETURN r = 'us'")
