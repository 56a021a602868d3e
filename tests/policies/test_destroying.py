"""What a user without rights may not even read they can neither delete, nor move, nor overwrite.

Each way is a job of its own statements by a user of no role. Whatever is refused on the way, and whatever is
not: afterwards the files of the protected table are what they were.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from delta.tables import DeltaTable

import audit
from audit.policies.errors import AccessDeniedError
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES


@pytest.fixture(scope="module")
def held(session, tmp_path_factory):
    """A table behind a mask and a row policy, its folder, and what lies in it."""
    run = session.sql
    run("CREATE SCHEMA held")
    run("CREATE SCHEMA mine")
    run("CREATE MASKING POLICY held.hush AS (v STRING) RETURNS STRING -> 'x'")
    run("CREATE ROW ACCESS POLICY held.near AS (p INT) RETURNS BOOLEAN -> p = 1")
    run("CREATE TABLE held.t (id INT, ssn STRING, p INT) PARTITIONED BY (p)")
    run("INSERT INTO held.t VALUES (1, 's111', 1), (2, 's222', 2)")
    run("ALTER TABLE held.t ALTER COLUMN ssn SET MASKING POLICY held.hush")
    run("ALTER TABLE held.t ADD ROW ACCESS POLICY held.near ON (p)")
    run("CREATE TABLE mine.source (id INT, ssn STRING, p INT)")
    run("INSERT INTO mine.source VALUES (7, 'mine', 1)")
    place = run("DESCRIBE DETAIL held.t").first().location
    yield Held(session, Path(place.removeprefix("file:")), tmp_path_factory.mktemp("held"))
    run("DROP SCHEMA mine CASCADE")
    run("DROP SCHEMA held CASCADE")


class Held:
    """The protected table and its folder."""

    def __init__(self, session, folder, spare):
        self.session, self.folder, self.spare = session, folder, spare
        self.before = _contents(folder)
        shutil.copytree(folder, spare / "copy")
        self.link, self.part_link = spare / "link", spare / "part"
        self.link.symlink_to(folder)
        self.part_link.symlink_to(folder / "p=1")

    def try_all(self, way, spelled):
        """Runs a way over a folder, whatever of it is refused."""
        place = {
            "place": self.folder, "above": self.folder.parent, "part": self.folder / "p=1",
            "link": self.link, "part_link": self.part_link, "log": self.folder / "_delta_log",
            "dotted": f"{self.folder.parent}//x/../{self.folder.name}", "url": f"file://{self.folder}",
        }[spelled]  # fmt: skip
        with audit.as_user(self.session, "mallory"):
            return [self._tried(one, str(place)) for one in way]

    def _tried(self, step, place):
        try:
            if isinstance(step, str):
                self.session.sql(step.format(any=place)).collect()
            else:
                step(self.session, place)
        except Exception as error:  # noqa: BLE001 - whatever Spark says of it
            return f"{type(error).__name__}: {str(error)[:200]}"
        return "done"

    def clean_up(self):
        """Takes away what a way has left behind."""
        for one in self.session.sql("SHOW TABLES IN mine").collect():
            if one.tableName != "source":
                with suppress(Exception):
                    self.session.sql(f"DROP TABLE mine.{one.tableName}")
        for one in self.folder.parent.iterdir():
            # A stream may append beside protected folders.
            if one.is_file():
                one.unlink()
            elif one.name == "_spark_metadata":
                shutil.rmtree(one)
        for name in ("taken",):
            with suppress(Exception):
                self.session.sql(f"DROP SCHEMA {name} CASCADE")

    def changes(self):
        """What is not as it was; it is put back."""
        now = _contents(self.folder)
        # A VACUUM of the table itself, which deletes nothing of it, is in its log.
        new = {name for name in now if not _COMMIT.fullmatch(name)}
        changed = sorted(
            {one for one in {*now, *self.before} if now.get(one) != self.before.get(one)}
            & {*new, *self.before}
        )
        if now != self.before:
            if self.folder.exists():
                shutil.rmtree(self.folder)
            shutil.copytree(self.spare / "copy", self.folder)
        return changed


_COMMIT = re.compile(r"_delta_log/\.?\d+\.(json|crc)(\.crc)?")


def _contents(folder):
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def _frame(session):
    return session.createDataFrame([(9, "z", 1)], "id INT, ssn STRING, p INT")


def _catalog(method, name):
    def call(session, _place):
        method_of = getattr(session.catalog, method)
        if method == "dropDatabase":
            method_of(name, cascade=True)
        else:
            method_of(name)

    return call


def _streamed_by_a_setting(session, place):
    folder = Path(place)
    session.conf.set("spark.sql.streaming.checkpointLocation", str(folder.parent))
    try:
        writer = session.readStream.table("mine.source").writeStream.format("noop").queryName(folder.name)
        writer.trigger(availableNow=True).start().awaitTermination()
    finally:
        session.conf.unset("spark.sql.streaming.checkpointLocation")


def _streamed(session, kind, path, **options):
    with tempfile.TemporaryDirectory() as checkpoint:
        query = (
            session.readStream.table("mine.source").writeStream.format(kind)
            .options(**{"checkpointLocation": checkpoint, **options}).trigger(availableNow=True).start(path)
        )  # fmt: skip
        query.awaitTermination()


SPELLED = ("place", "above", "link", "url", "part_link", "dotted", "part", "log")

PARQUET = "CREATE TABLE mine.f (id INT) USING parquet"
PARTED = "CREATE TABLE mine.f (id INT, p INT) USING parquet PARTITIONED BY (p)"
ADDED = "ALTER TABLE mine.f ADD PARTITION (p = 1) LOCATION '{any}'"
# Each is a way: statements about a folder, or functions of a session and a folder.
WAYS = [
    [PARQUET, "ALTER TABLE mine.f SET LOCATION '{any}'", "DROP TABLE mine.f"],
    [PARQUET, "ALTER TABLE mine.f SET LOCATION '{any}'", "TRUNCATE TABLE mine.f"],
    [PARQUET, "ALTER TABLE mine.f SET LOCATION '{any}'", "INSERT OVERWRITE mine.f VALUES (1)"],
    [PARQUET, "ALTER TABLE mine.f SET LOCATION '{any}'", "ALTER TABLE mine.f RENAME TO mine.g"],
    [PARQUET, "ALTER TABLE mine.f SET LOCATION '{any}'", _catalog("dropTable", "mine.f")],
    [f"{PARQUET} LOCATION '{{any}}'", "TRUNCATE TABLE mine.f"],
    [f"{PARQUET} OPTIONS (path '{{any}}')", "INSERT OVERWRITE mine.f VALUES (1)"],
    [f"{PARQUET} OPTIONS (PATH '{{any}}')", _catalog("truncateTable", "mine.f")],
    ["CREATE TABLE mine.f USING parquet LOCATION '{any}' AS SELECT 1 AS id"],
    [PARTED, ADDED, "ALTER TABLE mine.f DROP PARTITION (p = 1)"],
    [PARTED, ADDED, "TRUNCATE TABLE mine.f PARTITION (p = 1)"],
    [PARTED, ADDED, "INSERT OVERWRITE mine.f PARTITION (p = 1) VALUES (3)"],
    [PARTED, ADDED, "DROP TABLE mine.f"],
    [
        PARTED, "ALTER TABLE mine.f ADD PARTITION (p = 1)",
        "ALTER TABLE mine.f PARTITION (p = 1) SET LOCATION '{any}'",
        "ALTER TABLE mine.f DROP PARTITION (p = 1)",
    ],
    [f"{PARTED} LOCATION '{{any}}'", "MSCK REPAIR TABLE mine.f", "ALTER TABLE mine.f DROP PARTITION (p = 1)"],
    [
        f"{PARTED} LOCATION '{{any}}'", "ALTER TABLE mine.f RECOVER PARTITIONS",
        "ALTER TABLE mine.f PARTITION (p = 1) RENAME TO PARTITION (p = 5)",
    ],
    ["CREATE SCHEMA taken LOCATION '{any}'", "DROP SCHEMA taken CASCADE"],
    ["CREATE SCHEMA taken LOCATION '{any}'", _catalog("dropDatabase", "taken")],
    ["CREATE SCHEMA taken", "ALTER SCHEMA taken SET LOCATION '{any}'", "DROP SCHEMA taken CASCADE"],
    [
        "CREATE TABLE mine.d (id INT) USING delta LOCATION '{any}'",
        "SET spark.databricks.delta.retentionDurationCheck.enabled = false",
        "VACUUM mine.d RETAIN 0 HOURS", "DROP TABLE mine.d",
    ],
    [
        "CREATE TABLE mine.d (id INT, ssn STRING, p INT) USING delta PARTITIONED BY (p)",
        "ALTER TABLE mine.d SET LOCATION '{any}'", _catalog("dropTable", "mine.d"),
    ],
    ["CREATE OR REPLACE TABLE mine.d USING delta LOCATION '{any}' AS SELECT 1 AS id", "DROP TABLE mine.d"],
    ["CREATE TABLE mine.d SHALLOW CLONE mine.source LOCATION '{any}'"],
    ["CREATE OR REPLACE TABLE delta.`{any}` SHALLOW CLONE mine.source"],
    ["CREATE OR REPLACE TABLE delta.`{any}` USING delta AS SELECT 1 AS id"],
    ["CONVERT TO DELTA parquet.`{any}` NO STATISTICS PARTITIONED BY (p INT)"],
    ["INSERT OVERWRITE DIRECTORY '{any}' USING parquet SELECT 1"],
    ["INSERT OVERWRITE LOCAL DIRECTORY '{any}' USING parquet SELECT 1"],
    ["INSERT INTO parquet.`{any}` VALUES (1)"],
    ["VACUUM delta.`{any}` RETAIN 0 HOURS", "VACUUM '{any}' RETAIN 0 HOURS"],
    [PARQUET, "LOAD DATA INPATH '{any}' INTO TABLE mine.f"],
    [PARQUET, "LOAD DATA INPATH '{any}/*' INTO TABLE mine.f"],
    [lambda s, p: _frame(s).write.mode("overwrite").parquet(p)],
    [lambda s, p: _frame(s).write.mode("append").parquet(p)],
    [lambda s, p: _frame(s).write.mode("overwrite").format("csv").option("PATH", p).save()],
    [lambda s, p: _frame(s).write.mode("overwrite").format("delta").option("PATH", p)
     .option("overwriteSchema", "true").save()],
    [lambda s, p: _frame(s).write.format("csv").option("PATH", p).mode("overwrite").saveAsTable("mine.f")],
    [lambda s, p: _frame(s).writeTo("mine.f").using("parquet").option("PATH", p).create()],
    [lambda s, p: _frame(s).writeTo("mine.f").using("parquet").tableProperty("location", p).create()],
    [lambda s, p: _frame(s).writeTo("mine.f").using("delta").tableProperty("location", p).createOrReplace()],
    [lambda s, p: s.catalog.createTable("mine.f", p, "parquet", _frame(s).schema), "TRUNCATE TABLE mine.f"],
    [lambda s, p: DeltaTable.createOrReplace(s).location(p).addColumn("id", "INT").execute()],
    [lambda s, p: DeltaTable.create(s).tableName("mine.f").location(p).addColumn("i", "INT").execute()],
    [lambda s, p: DeltaTable.convertToDelta(s, f"parquet.`{p}`", "p INT")],
    [lambda s, p: DeltaTable.forPath(s, p).vacuum(0)],
    [lambda s, p: DeltaTable.forName(s, "mine.source").clone(p, isShallow=True, replace=True)],
    [lambda s, p: _streamed(s, "parquet", p)],
    [lambda s, p: _streamed(s, "parquet", None, PATH=p)],
    [lambda s, p: _streamed(s, "noop", None, checkpointLocation=p)],
    [_streamed_by_a_setting],
    [lambda s, p: _streamed(s, "csv", p)],
]  # fmt: skip


@pytest.mark.parametrize(
    "spelled",
    [
        pytest.param(None, id="short", marks=pytest.mark.slow("many statements, each alone")),
        *(
            pytest.param([one], id=one, marks=pytest.mark.long("each way over each folder"))
            for one in SPELLED
        ),
    ],
)
def test_protected_files_stay(held, spelled):
    """No way leads to the files of a protected table, however their folder is spelled."""
    reached = []
    for number, way in enumerate(WAYS):
        for name in spelled or [SPELLED[(number // 2) % len(SPELLED)]]:
            told = held.try_all(way, name)
            held.clean_up()
            if held.changes():
                reached.append((number, name, way, told))
    assert reached == []


def test_a_partition_that_is_refused_is_not_there(session, held):
    """Not in the catalog either, where a later statement of somebody else would come upon it."""
    with audit.as_user(session, "mallory"):
        session.sql(PARTED)
        with pytest.raises(AccessDeniedError):
            session.sql(ADDED.format(any=held.folder))
    try:
        assert session.sql("SHOW PARTITIONS mine.f").collect() == []
    finally:
        held.clean_up()


def test_what_is_hidden_is_kept_as_long_as_it_was(session, held):
    """Who does not see all of a table makes no UNDROP of it fail: neither there, nor by what is above it."""
    del held
    every = "DATA_RETENTION_TIME_IN_DAYS"
    for text in (
        f"ALTER TABLE held.t SET {every} = 0",
        f"ALTER TABLE held.t UNSET {every}",
        f"ALTER SCHEMA held SET {every} = 0",
        f"ALTER ACCOUNT SET {every} = 0",
    ):
        with audit.as_user(session, "mallory"), pytest.raises(AccessDeniedError, match="how long it is kept"):
            session.sql(text)
    with audit.as_user(session, "mallory"):
        session.sql(f"ALTER TABLE mine.source SET {every} = 2")
        session.sql("DROP TABLE held.t")
    session.sql("USE held")
    session.sql("UNDROP TABLE t")
    session.sql("USE default")
