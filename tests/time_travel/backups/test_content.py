"""What a backup holds, and how it comes back: tables of all kinds, whatever becomes of their source."""

from __future__ import annotations

import json
import shutil
import time

import pytest

from audit.time_travel import errors
from audit.time_travel.backups.content.backup_content import NAME, content_in
from audit.time_travel.backups.content.take_backup import Watch
from audit.time_travel.backups.files.publish import is_published
from tests.sessions import NO_TABLES

from .content import Backups, damages, rows

pytestmark = pytest.mark.spark
ATTACH = NO_TABLES

# Each layout and feature of Delta's that a log or the name of a file shows.
TABLES = {
    "parted": [
        "CREATE TABLE parted (a INT, p STRING) PARTITIONED BY (p)",
        "INSERT INTO parted VALUES (1, 'x y/z=1'), (2, 'é%'), (3, 'a:b'), (4, NULL)",
    ],
    "mapped": [
        (
            "CREATE TABLE mapped TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'mine' = 'yes',"
            " 'delta.columnMapping.mode' = 'name') AS SELECT id AS a FROM range(0, 100, 1, 1)"
        ),
        "ALTER TABLE mapped RENAME COLUMN a TO k",
        "DELETE FROM mapped WHERE k < 10",
    ],
    "shallow": ["CREATE TABLE shallow CLONE mapped", "INSERT INTO shallow VALUES (1000)"],
    "tracked": [
        (
            "CREATE TABLE tracked TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
            " AS SELECT id AS a FROM range(0, 10, 1, 1)"
        ),
        "UPDATE tracked SET a = 100 WHERE a = 5",
    ],
    "ruled": [
        (
            "CREATE TABLE ruled (n BIGINT GENERATED ALWAYS AS IDENTITY, a INT,"
            " b INT GENERATED ALWAYS AS (a * 2)) COMMENT 'of rules'"
        ),
        "ALTER TABLE ruled ADD CONSTRAINT small CHECK (a < 10)",
        "INSERT INTO ruled (a) VALUES (1), (2)",
    ],
    "clustered": [
        "CREATE TABLE clustered (a INT, b INT) CLUSTER BY (a)",
        "INSERT INTO clustered VALUES (1, 2)",
    ],
    "widened": [
        (
            "CREATE TABLE widened (a SHORT) TBLPROPERTIES ('delta.enableTypeWidening' = 'true',"
            " 'delta.enableChangeDataFeed' = 'true')"
        ),
        "INSERT INTO widened VALUES (1)",
        "ALTER TABLE widened ALTER COLUMN a TYPE INT",
        "INSERT INTO widened VALUES (100000)",
    ],
    "pointed": [
        (
            "CREATE TABLE pointed (a INT) TBLPROPERTIES ('delta.checkpointPolicy' = 'v2',"
            " 'delta.checkpointInterval' = '2', 'delta.enableInCommitTimestamps' = 'false')"
        ),
        "INSERT INTO pointed VALUES (1)",
        "INSERT INTO pointed VALUES (2)",
        "INSERT INTO pointed VALUES (3)",
    ],
    "empty": ["CREATE TABLE empty (a INT)"],
}
OURS = (
    "timeTravel.",
    "delta.deletedFileRetention",
    "delta.logRetention",
    "delta.inCommitTimestampEnablement",
)


@pytest.fixture
def backups(session, tmp_path):
    """Of the session."""
    return Backups(session, tmp_path)


def described(session, table):
    """The columns, properties and layout of a table, but for what retention sets."""
    properties = {
        row.key: row.value
        for row in session.sql(f"SHOW TBLPROPERTIES {table}").collect()
        if not row.key.startswith(OURS)
    }
    detail = session.sql(f"DESCRIBE DETAIL {table}").first()
    layout = (detail.partitionColumns, detail.clusteringColumns, detail.description, detail.tableFeatures)
    return session.table(table).schema.json(), properties, layout


@pytest.mark.long("each kind of table; the other tests have the usual one")
def test_a_schema_comes_back_as_it_was(session, schema, backups):
    """Tables of all kinds, views and functions; their source is gone with all its folders."""
    for texts in TABLES.values():
        for text in texts:
            session.sql(text)
    session.sql("CREATE TABLE other USING parquet AS SELECT 1 AS a")
    session.sql("CREATE FUNCTION twice(a INT) RETURNS INT RETURN a * 2")
    session.sql("CREATE VIEW seen AS SELECT a, twice(a) AS b FROM parted")
    before = {name: (rows(session, f"SELECT * FROM {name}"), described(session, name)) for name in TABLES}
    ids = rows(session, "SELECT a, _metadata.row_id FROM tracked")

    folder = backups.schema(schema)
    content = content_in(folder / NAME)
    assert (damages(folder), [one.name for one in content.left_out]) == ((), ["other"])
    assert backups.taken["copied"] == 0
    assert content.files == sum(one.files for one in content.tables) >= 14
    for name in TABLES:
        shutil.rmtree(backups.location(name))
    session.sql("USE default")
    session.sql(f"DROP SCHEMA {schema} CASCADE")
    assert damages(folder) == ()

    assert backups.restore_schema(folder, "again").message == "Schema again successfully restored."
    try:
        session.sql("USE again")
        for name in TABLES:
            assert (rows(session, f"SELECT * FROM {name}"), described(session, name)) == before[name], name
        assert rows(session, "SELECT a, _metadata.row_id FROM tracked") == ids
        assert rows(session, "SELECT * FROM seen") == rows(session, "SELECT a, a * 2 FROM parted")
        assert rows(session, "SELECT a FROM parted WHERE p = 'é%'") == ["(2,)"]
        with pytest.raises(Exception, match="small"):
            session.sql("INSERT INTO ruled (a) VALUES (10)")
        session.sql("INSERT INTO ruled (a) VALUES (3)")
        assert len(rows(session, "SELECT DISTINCT n FROM ruled")) == 3
        for name in ("parted", "mapped", "tracked", "clustered", "widened", "pointed", "empty"):
            session.sql(f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1")
        assert damages(folder) == ()
    finally:
        session.sql("USE default")
        session.sql("DROP SCHEMA again CASCADE")
    assert damages(folder) == ()


def test_a_table_in_place(session, schema, backups):
    """OR REPLACE makes a version of the table that is there: its past is kept; no bytes are copied."""
    session.sql("CREATE TABLE t (a INT) DATA_RETENTION_TIME_IN_DAYS = 5")
    session.sql("INSERT INTO t VALUES (1)")
    folder = backups.table(f"{schema}.t")
    session.sql("INSERT INTO t VALUES (2)")
    session.sql("ALTER TABLE t ADD COLUMN b INT")
    with pytest.raises(errors.ObjectExistsError, match="CREATE OR REPLACE TABLE"):
        backups.restore_table(folder, f"{schema}.t")
    backups.taken.clear()
    backups.restore_table(folder, f"{schema}.t", replace=True)
    assert rows(session, "SELECT * FROM t") == ["(1,)"]
    assert rows(session, "SELECT * FROM t VERSION AS OF 3") == ["(1, None)", "(2, None)"]
    assert backups.taken == {"linked": 1, "copied": 0, "kept": 0}
    newest = session.sql("DESCRIBE HISTORY t").first()
    assert (newest.operation, newest.operationMetrics["numCopiedFiles"]) == ("CLONE", "0")
    shown = {row.key: row.value for row in session.sql("SHOW PARAMETERS IN TABLE t").collect()}
    assert shown["DATA_RETENTION_TIME_IN_DAYS"] == "5"
    backups.restore_table(folder, f"{schema}.t", replace=True)
    assert rows(session, "SELECT * FROM t") == ["(1,)"]
    assert damages(folder) == ()


@pytest.mark.parametrize("place", [1, 5, 8, "commit"])
def test_a_killed_restore_in_place(session, schema, backups, monkeypatch, place):
    """At a file, or before the commit: the table is as it was, and the next attempt goes on."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(0, 8, 1, 8)")
    folder = backups.table(f"{schema}.t")
    session.sql("INSERT OVERWRITE t VALUES (99)")
    session.sql("ALTER TABLE t ADD COLUMN b INT")
    seen = []

    def kill(one):
        seen.append(one)
        if len(seen) == place:
            raise KeyboardInterrupt

    def kill_commit(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if place == "commit":
            patch.setattr(type(backups.catalog), "clone", kill_commit)
        with pytest.raises(KeyboardInterrupt):
            backups.restore_table(folder, f"{schema}.t", replace=True, watch=Watch(kill))
    assert rows(session, "SELECT * FROM t") == ["(99, None)"]
    backups.restore_table(folder, f"{schema}.t", replace=True)
    assert rows(session, "SELECT * FROM t") == [f"({number},)" for number in range(8)]
    assert damages(folder) == ()


def test_a_restored_table_is_one_of_its_own(session, schema, backups, stored):
    """Another id, its own retention; it is dropped, brought back and backed up as any other."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    folder = backups.table(f"{schema}.t", version=1)
    session.sql(f"ALTER SCHEMA {schema} SET DATA_RETENTION_TIME_IN_DAYS = 3")
    backups.restore_table(folder, f"{schema}.u")
    session.sql("INSERT INTO u VALUES (2)")
    assert stored("u")["delta.deletedFileRetentionDuration"] == "interval 240 hours"
    detail = {name: session.sql(f"DESCRIBE DETAIL {name}").first().id for name in ("t", "u")}
    assert detail["t"] == content_in(folder / NAME).tables[0].table_id != detail["u"]
    session.sql("DROP TABLE u")
    session.sql("UNDROP TABLE u")
    again = backups.table(f"{schema}.u", backup="two")
    backups.restore_table(again, f"{schema}.v")
    assert rows(session, "SELECT a FROM v") == ["(1,)", "(2,)"]
    # The name of a copy of a copy does not grow.
    names = {one.name for one in backups.location("v").glob("*.parquet")}
    assert all(name[20:26] == "-part-" for name in names)
    first = session.sql("DESCRIBE HISTORY v").first()
    assert (first.operation, first.operationMetrics["sourceNumOfFiles"]) == ("CLONE", "2")


def test_a_restored_table_is_protected_as_its_source(session, schema, backups):
    """Also where the source is gone; and whoever reads the backup's own folder sees no more."""
    session.sql("CREATE MASKING POLICY zero AS (v INT) RETURNS INT -> 0")
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (7)")
    session.sql("ALTER TABLE t ALTER COLUMN a SET MASKING POLICY zero")
    folder = backups.table(f"{schema}.t")
    session.sql("DROP TABLE t")
    backups.restore_table(folder, f"{schema}.u")
    assert rows(session, "SELECT a FROM u") == ["(0,)"]
    assert rows(session, f"SELECT a FROM delta.`{folder}/tables/0000`") == ["(0,)"]
    session.sql("ALTER TABLE u ALTER COLUMN a UNSET MASKING POLICY")
    assert rows(session, "SELECT a FROM u") == ["(7,)"]


def test_tags_and_masks_are_those_of_then_and_of_today(session, schema, backups):
    """A tag reaches what is restored, a mask that was set since, and one that was taken off since."""
    session.sql("CREATE TABLE t (a INT, b INT)")
    session.sql("INSERT INTO t VALUES (1, 2)")
    session.sql("CREATE TAG kind")
    session.sql("CREATE MASKING POLICY zero AS (v INT) RETURNS INT -> 0")
    session.sql("ALTER TABLE t ALTER COLUMN a SET TAG kind = 'high'")
    session.sql("ALTER TABLE t ALTER COLUMN a SET MASKING POLICY zero")
    folder = backups.table(f"{schema}.t")
    session.sql("ALTER TABLE t ALTER COLUMN a UNSET MASKING POLICY")
    session.sql("ALTER TABLE t ALTER COLUMN b SET MASKING POLICY zero")
    backups.restore_table(folder, f"{schema}.u")
    assert rows(session, "SELECT a, b FROM u") == ["(0, 0)"]
    assert rows(session, "SELECT a, b FROM t") == ["(1, 0)"]
    tags = (
        "SELECT t.object_id, c.object_name, t.column_name, t.tag_value FROM account_usage.tag_references t"
        " JOIN account_usage.catalog_tables c USING (object_id)"
        f" WHERE t.object_schema = '{schema}' AND t.deleted_on IS NULL AND c.deleted IS NULL"
    )
    found = [tuple(row)[1:] for row in session.sql(tags).collect()]
    assert sorted(found) == [(f"spark_catalog.{schema}.{name}", "a", "high") for name in ("t", "u")]


def test_a_missing_file_is_named_and_nothing_published(session, schema, backups):
    """The next attempt makes the backup of the same version, whatever was written meanwhile."""
    session.sql("CREATE TABLE t (a INT)")
    session.sql("INSERT INTO t VALUES (1)")
    (file,) = backups.location("t").glob("*.parquet")
    away = file.rename(file.with_suffix(".away"))
    with pytest.raises(
        errors.BackupIncompleteError, match=rf"version 1 of .*{file.name} is missing; RESTORE"
    ):
        backups.table(f"{schema}.t")
    folder = backups.root / "set" / "one"
    assert not is_published(folder)
    away.rename(file)
    session.sql("INSERT INTO t VALUES (2)")
    backups.table(f"{schema}.t")
    (table,) = content_in(folder / NAME).tables
    assert (table.version, table.files) == (1, 1)
    assert rows(session, f"SELECT a FROM delta.`{folder}/tables/0000`") == ["(1,)"]


def test_a_killed_backup_goes_on(session, schema, backups):
    """With the versions that it began with."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(0, 8, 1, 8)")
    session.sql("CREATE TABLE u (a INT)")
    seen = []

    def kill(one):
        seen.append(one)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backups.schema(schema, watch=Watch(kill))
    session.sql("INSERT OVERWRITE t VALUES (99)")
    session.sql("DROP TABLE u")
    folder = backups.schema(schema)
    assert backups.taken["kept"] >= 3
    assert damages(folder) == ()
    assert [one.files for one in content_in(folder / NAME).tables] == [8, 0]


def test_a_schema_comes_back_as_a_whole_or_not_at_all(session, schema, backups):
    """An error takes it away again, a killed restore goes on, and another backup takes it back first."""
    session.sql("CREATE TABLE t AS SELECT 1 AS a")
    session.sql("CREATE VIEW v AS SELECT a FROM t")
    one = backups.schema(schema)
    session.sql("INSERT INTO t VALUES (2)")
    two = backups.schema(schema, "two")

    def fail(*_):
        raise ValueError("on purpose")

    def kill(*_):
        raise KeyboardInterrupt

    with pytest.raises(ValueError, match="on purpose"):
        backups.restore_schema(one, "whole", copy_views=fail)
    assert backups.catalog.schema_facts("whole") is None
    with pytest.raises(KeyboardInterrupt):
        backups.restore_schema(one, "whole", copy_views=kill)
    assert backups.catalog.schema_facts("whole") is not None
    backups.taken.clear()
    backups.restore_schema(one, "whole")
    assert not backups.taken
    assert rows(session, "SELECT * FROM whole.v") == ["(1,)"]
    with pytest.raises(errors.ObjectExistsError, match="the schema whole exists"):
        backups.restore_schema(two, "whole")
    with pytest.raises(errors.ObjectExistsError, match="UNDROP brings back"):
        backups.restore_schema(two, "whole", replace=True)
    session.sql("DROP SCHEMA whole CASCADE")
    with pytest.raises(KeyboardInterrupt):
        backups.restore_schema(one, "whole", copy_views=kill)
    left = backups.location("whole.t")
    backups.restore_schema(two, "whole")
    assert rows(session, "SELECT * FROM whole.v") == ["(1,)", "(2,)"]
    assert not left.exists()
    session.sql("DROP SCHEMA whole CASCADE")
    assert [path.suffix for path in (backups.root / "restores").iterdir()] == [".lock"]


def test_a_killed_restore_of_a_table_goes_on(session, schema, backups):
    """At the place where it began: nobody sees it before, and nothing of the first attempt is left over."""
    session.sql("CREATE TABLE t AS SELECT id FROM range(0, 8, 1, 8)")
    folder = backups.table(f"{schema}.t")
    seen = []

    def kill(one):
        seen.append(one)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        backups.restore_table(folder, f"{schema}.went", watch=Watch(kill))
    assert not session.catalog.tableExists("went")
    backups.taken.clear()
    backups.restore_table(folder, f"{schema}.went")
    assert backups.taken["kept"] >= 3
    assert session.table("went").count() == 8
    place = backups.location("went")
    assert list(place.parent.glob("went-*")) == [place]


@pytest.mark.long("a measurement")
def test_ten_thousand_files(session, schema, backups, tmp_path):
    """No bytes and no Spark job a file."""
    place = tmp_path / "many"
    session.sql(f"CREATE TABLE t (a INT) LOCATION '{place}'")
    session.sql("INSERT INTO t VALUES (1)")
    (file,) = place.glob("*.parquet")
    (log,) = place.glob("_delta_log/*1.json")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (add,) = [line for line in lines if "add" in line]
    rest = [line for line in lines if "add" not in line]
    many = []
    for number in range(1, 10_001):
        name = f"part-{number:05}-{file.name[11:]}"
        shutil.copy(file, place / name)
        many.append({"add": {**add["add"], "path": name}})
    log.write_text("".join(json.dumps(line) + "\n" for line in [*rest, *many]))
    log.with_name(f".{log.name}.crc").unlink(missing_ok=True)
    log.with_suffix(".crc").unlink(missing_ok=True)
    backups.catalog.forget(str(place))
    begin = time.perf_counter()
    folder = backups.table(f"{schema}.t")
    took = time.perf_counter() - begin
    assert backups.taken["linked"] == 10_000
    begin = time.perf_counter()
    backups.restore_table(folder, f"{schema}.u")
    print(f"backup of 10,000 files {took:.2f} s, restore {time.perf_counter() - begin:.2f} s")  # noqa: T201
    assert session.table("u").count() == 10_000
