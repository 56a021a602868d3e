"""Who reads the files of a backup, and who writes them: its set's owner and administrators, and nobody."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import audit
from audit.core.actor import Actor
from audit.policies.errors import UnknownPolicyError
from audit.time_travel.backups.rules.requests import BackupSecurable
from lineage.model import Domain
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
SET = BackupSecurable(Domain.BACKUP_SET, "spark_catalog.kept.b", "set1", "bob", 1)

READS = {
    "SQL": lambda s, p: s.sql(f"SELECT * FROM delta.`{p}`").collect(),
    "reader": lambda s, p: s.read.format("delta").load(p).collect(),
    "link": lambda s, p: s.read.format("delta").load(_link(p)).collect(),
    "changes": lambda s, p: (
        s.read.format("delta").options(readChangeFeed=True, startingVersion=0).load(p).collect()
    ),
    "version": lambda s, p: s.sql(f"SELECT * FROM delta.`{p}` VERSION AS OF 1").collect(),
    "AT": lambda s, p: s.sql(f"SELECT * FROM delta.`{p}` AT (OFFSET => 0)").collect(),
    "subquery": lambda s, p: s.sql(f"SELECT (SELECT max(name) FROM delta.`{p}`)").collect(),
    "DeltaTable": lambda s, p: DeltaTable.forPath(s, p).toDF().collect(),
    "parquet": lambda s, p: s.read.parquet(p).collect(),
    "parquet by link": lambda s, p: s.read.parquet(_link(p)).collect(),
    "binaryFile": lambda s, p: s.read.format("binaryFile").load(p).collect(),
    "log": lambda s, p: s.read.text(f"{p}/_delta_log/*.json").collect(),
    "all below the root": lambda s, p: (
        s.read.option("recursiveFileLookup", "true")
        .format("binaryFile")
        .load(str(Path(p).parents[4]))
        .collect()
    ),
    "pattern": lambda s, p: (
        s.read.format("binaryFile").load(f"{Path(p).parents[3]}/*/*/*/*/*.parquet").collect()
    ),
    "temporary view": lambda s, p: _each(
        s, f"CREATE OR REPLACE TEMPORARY VIEW tv USING delta OPTIONS (path '{p}')", "SELECT * FROM tv"
    ),
    "view": lambda s, p: _each(
        s, f"CREATE OR REPLACE VIEW kept.v AS SELECT * FROM delta.`{p}`", "SELECT * FROM kept.v"
    ),
    "CTAS": lambda s, p: s.sql(f"CREATE TABLE kept.c AS SELECT * FROM delta.`{p}`"),
    "INSERT": lambda s, p: s.sql(f"INSERT INTO kept.o SELECT * FROM delta.`{p}`"),
    "CLONE": lambda s, p: s.sql(f"CREATE TABLE kept.c CLONE delta.`{p}`"),
    "SHALLOW CLONE": lambda s, p: s.sql(f"CREATE TABLE kept.c SHALLOW CLONE delta.`{p}`"),
    "clone": lambda s, p: DeltaTable.forPath(s, p).clone(f"{Path(p).parents[5]}/clone", isShallow=True),
    "DETAIL": lambda s, p: s.sql(f"DESCRIBE DETAIL delta.`{p}`").collect(),
    "HISTORY": lambda s, p: s.sql(f"DESCRIBE HISTORY delta.`{p}`").collect(),
    "inputFiles": lambda s, p: s.read.format("delta").load(p).inputFiles(),
    "stream": lambda s, p: _streamed(s.readStream.format("delta").load(p)),
    "stream of files": lambda s, p: _streamed(s.readStream.schema("id INT").format("parquet").load(p)),
    "stream of all": lambda s, p: _streamed(
        s.readStream.schema("id INT").format("parquet").load(str(Path(p).parents[4]))
    ),
    "ADD FILE": lambda s, p: s.sql(f"ADD FILE '{next(Path(p).glob('*.parquet'))}'"),
    "CACHE": lambda s, p: s.sql(f"CACHE TABLE cached AS SELECT * FROM delta.`{p}`"),
    "EXECUTE IMMEDIATE": lambda s, p: s.sql(f"EXECUTE IMMEDIATE 'SELECT * FROM delta.`{p}`'").collect(),
    "COPY INTO": lambda s, p: s.sql(f"COPY INTO kept.o FROM '{p}' FILEFORMAT = PARQUET").collect(),
}
WRITES = {
    "DELETE": lambda s, p: s.sql(f"DELETE FROM delta.`{p}` WHERE id = 1"),
    "UPDATE": lambda s, p: s.sql(f"UPDATE delta.`{p}` SET id = 1 WHERE id = 1"),
    "MERGE": lambda s, p: s.sql(
        f"MERGE INTO delta.`{p}` t USING (SELECT 1 id) u ON t.id = u.id WHEN MATCHED THEN DELETE"
    ),
    "INSERT": lambda s, p: s.sql(f"INSERT INTO delta.`{p}` VALUES (9, 'x')"),
    "OVERWRITE": lambda s, p: s.sql(f"INSERT OVERWRITE delta.`{p}` VALUES (9, 'x')"),
    "TRUNCATE": lambda s, p: s.sql(f"TRUNCATE TABLE delta.`{p}`"),
    "save": lambda s, p: s.range(1).write.format("delta").mode("overwrite").save(p),
    "append": lambda s, p: s.sql("SELECT 1 id, 'x' name").write.format("delta").mode("append").save(p),
    "parquet": lambda s, p: s.range(1).write.mode("append").parquet(p),
    "parquet beside": lambda s, p: s.range(1).write.parquet(f"{Path(p).parent}/1"),
    "parquet above": lambda s, p: s.range(1).write.mode("overwrite").parquet(str(Path(p).parents[4])),
    "parquet by link": lambda s, p: s.range(1).write.mode("append").parquet(_link(p)),
    "DELETE by link": lambda s, p: s.sql(f"DELETE FROM delta.`{_link(p)}` WHERE id = 2"),
    "VACUUM": lambda s, p: s.sql(f"VACUUM delta.`{p}` RETAIN 1000 HOURS"),
    "VACUUM path": lambda s, p: s.sql(f"VACUUM '{p}' RETAIN 1000 HOURS"),
    "vacuum": lambda s, p: DeltaTable.forPath(s, p).vacuum(1000),
    "delete": lambda s, p: DeltaTable.forPath(s, p).delete("id = 1"),
    "OPTIMIZE": lambda s, p: s.sql(f"OPTIMIZE delta.`{p}`").collect(),
    "optimize": lambda s, p: DeltaTable.forPath(s, p).optimize().executeCompaction(),
    "REORG": lambda s, p: s.sql(f"REORG TABLE delta.`{p}` APPLY (PURGE)").collect(),
    "RESTORE": lambda s, p: s.sql(f"RESTORE TABLE delta.`{p}` TO VERSION AS OF 0").collect(),
    "restore": lambda s, p: DeltaTable.forPath(s, p).restoreToVersion(0),
    "CONVERT": lambda s, p: s.sql(f"CONVERT TO DELTA parquet.`{p}`").collect(),
    "ADD COLUMN": lambda s, p: s.sql(f"ALTER TABLE delta.`{p}` ADD COLUMN z INT"),
    "TBLPROPERTIES": lambda s, p: s.sql(f"ALTER TABLE delta.`{p}` SET TBLPROPERTIES (a = 'b')"),
    "retention": lambda s, p: s.sql(f"ALTER TABLE delta.`{p}` SET DATA_RETENTION_TIME_IN_DAYS = 0"),
    "CONSTRAINT": lambda s, p: s.sql(f"ALTER TABLE delta.`{p}` ADD CONSTRAINT k CHECK (id > 0)"),
    "protocol": lambda s, p: DeltaTable.forPath(s, p).upgradeTableProtocol(2, 5),
    "feature": lambda s, p: DeltaTable.forPath(s, p).addFeatureSupport("deletionVectors"),
    "GENERATE": lambda s, p: s.sql(f"GENERATE symlink_format_manifest FOR TABLE delta.`{p}`"),
    "generate": lambda s, p: DeltaTable.forPath(s, p).generate("symlink_format_manifest"),
    "COMMENT": lambda s, p: s.sql(f"COMMENT ON TABLE delta.`{p}` IS 'x'"),
    "LOCATION": lambda s, p: s.sql(f"CREATE TABLE kept.c USING delta LOCATION '{p}'"),
    "LOCATION of parquet": lambda s, p: s.sql(f"CREATE TABLE kept.c USING parquet LOCATION '{p}'"),
    "LOCATION by link": lambda s, p: s.sql(f"CREATE TABLE kept.c USING parquet LOCATION '{_link(p)}'"),
    "LOCATION above": lambda s, p: s.sql(
        f"CREATE TABLE kept.c (a INT) USING parquet LOCATION '{Path(p).parents[4]}'"
    ),
    "LIKE": lambda s, p: s.sql(f"CREATE TABLE kept.c LIKE kept.o LOCATION '{p}'"),
    "REPLACE": lambda s, p: s.sql("SELECT 1 a").writeTo(f"delta.`{p}`").using("delta").createOrReplace(),
    "saveAsTable": lambda s, p: (
        s.range(1).write.format("parquet").option("path", f"{Path(p).parent}/9").saveAsTable("kept.c")
    ),
    "schema": lambda s, p: s.sql(f"CREATE SCHEMA kept_there LOCATION '{Path(p).parents[3]}'"),
    "SET LOCATION": lambda s, p: s.sql(f"ALTER TABLE kept.o SET LOCATION '{p}'"),
    "partition": lambda s, p: s.sql(f"ALTER TABLE kept.parts ADD PARTITION (d = 1) LOCATION '{p}'"),
    "DIRECTORY": lambda s, p: s.sql(f"INSERT OVERWRITE DIRECTORY '{p}' USING parquet SELECT 1 a"),
    "through a view": lambda s, p: _each(
        s,
        f"CREATE OR REPLACE TEMPORARY VIEW tw USING delta OPTIONS (path '{p}')",
        "INSERT INTO tw VALUES (8, 'q')",
    ),
    "sink": lambda s, p: _streamed(s.readStream.format("rate").load(), place=p),
    "checkpoint": lambda s, p: _streamed(s.readStream.format("rate").load(), checkpoint=f"{p}/progress"),
    "CLONE over": lambda s, p: s.sql(f"CREATE OR REPLACE TABLE delta.`{p}` SHALLOW CLONE kept.o"),
    "CLONE at": lambda s, p: s.sql(f"CREATE TABLE kept.c SHALLOW CLONE kept.o LOCATION '{Path(p).parent}/7'"),
    "clone at": lambda s, p: DeltaTable.forName(s, "kept.o").clone(f"{Path(p).parent}/8", isShallow=True),
}  # fmt: skip


def _link(place):
    """A link beside the backups that leads to one."""
    return f"{Path(place).parents[4]}/link"


def _each(session, *texts):
    """Statements; the rows of the last."""
    for text in texts:
        rows = session.sql(text).collect()
    return rows


def _streamed(frame, place=None, checkpoint=None):
    """A stream that takes what is there."""
    writer = frame.writeStream.format("noop" if place is None else "delta").trigger(availableNow=True)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", checkpoint)
    writer.start(place).awaitTermination()


@pytest.fixture(scope="module")
def backup(session, root):
    """A folder that stands for a backup of kept.t, of set1, which bob owns; ann administers."""
    run = session.sql
    run("CREATE SCHEMA kept")
    run("CREATE TABLE kept.t (id INT, name STRING) TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    run("INSERT INTO kept.t VALUES (1, 'secret'), (2, 'b')")
    run("CREATE TABLE kept.o (id INT, name STRING)")
    run("CREATE TABLE kept.parts (a INT, d INT) USING parquet PARTITIONED BY (d)")
    source = Path(run("DESCRIBE DETAIL kept.t").first().location.removeprefix("file:"))
    place = root / "backups" / "set1" / "b1" / "tables" / "0"
    shutil.copytree(source, place)
    (root / "link").symlink_to(place)
    policies = session.__dict__["_policies"]
    with audit.as_user(session, "bob"):
        policies.own_backup(SET, session, Actor(1, "bob", None, lambda: "owned"))
    yield str(place)
    run("DROP SCHEMA kept CASCADE")


def attempt(session, user, way, place):
    """What comes of an attempt: what its refusal says, or "done" and the values that it has shown."""
    with audit.as_user(session, user):
        try:
            return f"done {way(session, place)}"
        except (audit.errors.AuditError, PySparkException, Py4JJavaError) as error:
            return str(error)


def files(place):
    """All files of all backups."""
    top = Path(place).parents[3]
    return sorted(
        (str(one.relative_to(top)), one.stat().st_mtime_ns) for one in top.rglob("*") if one.is_file()
    )


def refused(told):
    """The ways that were not refused because of backups."""
    words = ("files of backups", "backups lie in", "own tables", "own table")
    return {way: said[:200] for way, said in told.items() if not any(word in said for word in words)}


@pytest.mark.slow("each way to read")
def test_who_does_not_own_the_set_reads_nothing(session, backup):
    """By SQL, readers, streams, links, patterns, clones, and what copies; with no policy on any table."""
    before = files(backup)
    told = {name: attempt(session, "mallory", way, backup) for name, way in READS.items()}
    assert refused(told) == {}
    assert session.table("kept.o").count() == 0
    assert files(backup) == before


@pytest.mark.slow("each way to write")
def test_nobody_writes_there(session, backup):
    """Not who owns the set, and no administrator: a set is changed by statements about it."""
    before = files(backup)
    told = {name: attempt(session, "ann", way, backup) for name, way in WRITES.items()}
    assert refused(told) == {}
    some = ("DELETE", "VACUUM", "OPTIMIZE", "RESTORE", "LOCATION", "parquet", "through a view")
    for user in ("bob", "mallory"):
        told = {name: attempt(session, user, WRITES[name], backup) for name in some}
        assert refused(told) == {}
    assert files(backup) == before


EVENTS = {
    "DELETE": lambda s, p: s.sql(f"DELETE FROM delta.`{p}` WHERE sequence >= 0"),
    "UPDATE": lambda s, p: s.sql(f"UPDATE delta.`{p}` SET details = '{{}}'"),
    "MERGE": lambda s, p: s.sql(
        f"MERGE INTO delta.`{p}` t USING (SELECT 0 n) u ON t.sequence = u.n WHEN MATCHED THEN DELETE"
    ),
    "INSERT": lambda s, p: s.sql(f"INSERT INTO delta.`{p}` SELECT * FROM delta.`{p}`"),
    "delete": lambda s, p: DeltaTable.forPath(s, p).delete(),
    "update": lambda s, p: DeltaTable.forPath(s, p).update(set={"name": "'x'"}),
    "save": lambda s, p: s.range(1).write.format("delta").mode("overwrite").save(p),
    "parquet": lambda s, p: s.range(1).write.mode("overwrite").parquet(p),
    **{
        name: WRITES[name]
        for name in (
            "TRUNCATE", "VACUUM", "OPTIMIZE", "RESTORE", "restore", "TBLPROPERTIES", "ADD COLUMN", "REPLACE",
            "LOCATION", "DIRECTORY", "CLONE over",
        )
    },
}  # fmt: skip


@pytest.mark.slow("each way to write")
def test_nobody_changes_what_happened_to_backups(session, root, backup):
    """No administrator takes a lock or a hold off by the table of events; it is read by all ways to read."""
    session.sql("CREATE BACKUP POLICY kept.p WITH RETENTION LOCK EXPIRE_AFTER_DAYS = 30")
    place = root / "backup_history"
    before = sorted(one.name for one in place.rglob("*") if one.is_file())
    for user in ("ann", "bob"):
        told = {name: attempt(session, user, way, str(place)) for name, way in EVENTS.items()}
        assert refused(told) == {}
    assert sorted(one.name for one in place.rglob("*") if one.is_file()) == before
    (policy,) = session.sql("SHOW BACKUP POLICIES IN SCHEMA kept").collect()
    assert policy.has_retention_lock == "Y"
    session.sql("DROP BACKUP POLICY kept.p")


def test_the_owner_and_administrators_read(session, backup):
    """Each read as it is; what would write to pin a file, as CLONE, is for nobody."""
    ways = ("SQL", "reader", "parquet", "temporary view", "DETAIL", "HISTORY", "stream")
    for user in ("bob", "ann"):
        told = {name: attempt(session, user, READS[name], backup) for name in ways}
        assert [said for said in told.values() if not said.startswith("done")] == []
        assert "secret" in told["SQL"]
    assert refused({"CLONE": attempt(session, "bob", READS["CLONE"], backup)}) == {}
    # What was a moment ago another's, and in Spark's caches, is not shown to who may not read it.
    assert refused({"SQL": attempt(session, "mallory", READS["SQL"], backup)}) == {}


def test_grants_on_what_is_not_there(session, backup):
    """A policy or set that the state of backups does not have; of the account each privilege is there."""
    for text in (
        "GRANT OWNERSHIP ON BACKUP SET kept.x TO USER bob",
        "GRANT APPLY ON BACKUP POLICY kept.x TO USER bob",
        "SHOW GRANTS ON BACKUP SET kept.x",
    ):
        noun = "policy" if "POLICY" in text else "set"
        with pytest.raises(UnknownPolicyError, match=rf"there is no backup {noun} spark_catalog\.kept\.x"):
            session.sql(text)
    session.sql("GRANT APPLY LEGAL HOLD, APPLY BACKUP RETENTION LOCK ON ACCOUNT TO USER bob")
    shown = {
        (row.privilege, row.granted_on, row.name) for row in session.sql("SHOW GRANTS TO USER bob").collect()
    }
    assert shown == {
        ("APPLY LEGAL HOLD", "ACCOUNT", ""),
        ("APPLY BACKUP RETENTION LOCK", "ACCOUNT", ""),
        ("OWNERSHIP", "BACKUP SET", "spark_catalog.kept.b"),
    }


@pytest.mark.slow("a mask and a row policy")
def test_policies_of_the_source_hold(session, backup):
    """A backup has Delta's id of its source; of a table with a row policy it is the past."""
    run = session.sql
    run("CREATE MASKING POLICY kept.hush AS (v STRING) RETURNS STRING -> '***'")
    run("ALTER TABLE kept.t ALTER COLUMN name SET MASKING POLICY kept.hush")
    for user in ("bob", "ann"):
        told = attempt(session, user, READS["SQL"], backup)
        assert "***" in told
        assert "secret" not in told
        assert "policies protect" in attempt(session, user, READS["parquet"], backup)
    assert refused({"SQL": attempt(session, "mallory", READS["SQL"], backup)}) == {}
    run("CREATE ROW ACCESS POLICY kept.one AS (n INT) RETURNS BOOLEAN -> n = 2")
    run("ALTER TABLE kept.t ADD ROW ACCESS POLICY kept.one ON (id)")
    assert "may not see what it held before" in attempt(session, "bob", READS["SQL"], backup)
    assert attempt(session, "ann", READS["SQL"], backup) == "done [Row(id=2, name='***')]"
    run("ALTER TABLE kept.t DROP ROW ACCESS POLICY kept.one")
    run("ALTER TABLE kept.t ALTER COLUMN name UNSET MASKING POLICY")
