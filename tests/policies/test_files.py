"""Files of a protected table come to nobody by other roads: resources of a session, readers, streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark import SparkFiles
from pyspark.errors import PySparkException

import audit
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
REFUSAL = "policies protect"

STATEMENTS = [
    "ADD FILE '{part}'",
    "ADD FILE '{place}'",
    "ADD FILE '{above}'",
    "ADD FILES '{part}' '{part}'",
    "ADD ARCHIVE '{part}'",
    "ADD JAR '{part}'",
    "SELECT * FROM binaryFile.`{place}`",
    "SELECT * FROM text.`{above}/*/*.parquet`",
    "SELECT * FROM parquet.`{place}/../{name}`",
]
READERS = {
    "several paths": lambda s, p: s.read.load([p["part"], p["part"]], format="parquet").collect(),
    "a pattern": lambda s, p: s.read.format("parquet").load(f"{p['above']}/*/part-*").collect(),
    "binaryFile": lambda s, p: s.read.format("binaryFile").load(p["place"]).collect(),
    "image": lambda s, p: s.read.format("image").load(p["place"]).collect(),
    "PATH": lambda s, p: s.read.format("text").option("PATH", p["place"]).load().collect(),
    "Path of parquet": lambda s, p: s.read.format("parquet").options(Path=p["part"]).load().collect(),
    "recursive": lambda s, p: s.read.option("recursiveFileLookup", "true").parquet(p["above"]).collect(),
    "text of the log": lambda s, p: s.read.json(f"{p['above']}/*/_delta_log/*.json").collect(),
    "a URL": lambda s, p: s.read.schema("value STRING").text(f"file:{p['place']}").collect(),
    "conversion": lambda s, p: DeltaTable.convertToDelta(s, f"parquet.`{p['above']}`").toDF().collect(),
    "a link": lambda s, p: s.read.parquet(p["link"]).collect(),
    "a mounted file": lambda s, p: _mounted(s, p).read.parquet("viewfs://mine/file").collect(),
    "a mounted folder": lambda s, p: _mounted(s, p).read.parquet("viewfs://mine/place").collect(),
    "all that is mounted": lambda s, p: _mounted(s, p).read.parquet("viewfs://mine/*").collect(),
    "a mounted log": lambda s, p: _mounted(s, p).read.text("viewfs://mine/place/_delta_log").collect(),
}


def _mounted(session, places):
    """The session, with a file system of its own settings that leads to the table's files."""
    for name in ("file", "place"):
        place = places["part" if name == "file" else name]
        session.conf.set(f"fs.viewfs.mounttable.mine.link./{name}", f"file://{place}")
    return session


STREAMS = {
    "PATH": lambda s, p: s.readStream.format("delta").option("PATH", p["place"]).load(),
    "Path": lambda s, p: s.readStream.format("delta").options(Path=p["place"]).load(),
    "a place": lambda s, p: s.readStream.format("delta").load(p["place"]),
    "a table": lambda s, _: s.readStream.table("filed.t"),
    "a link": lambda s, p: s.readStream.format("delta").load(p["link"]),
    "a mount": lambda s, p: _mounted(s, p).readStream.format("delta").load("viewfs://mine/place"),
    "a mounted file": lambda s, p: (
        _mounted(s, p).readStream.schema("id INT").format("parquet").load("viewfs://mine/file")
    ),
    "parquet": lambda s, p: s.readStream.schema("id INT").format("parquet").option("PATH", p["place"]).load(),
    "a pattern": lambda s, p: (
        s.readStream.schema("value STRING").format("text").load(f"{p['above']}/{p['name'][:6]}*")
    ),
}


@pytest.fixture(scope="module")
def places(session, tmp_path_factory):
    """Of a protected table: its folder, a file in it, the folder above, and a link to it."""
    run = session.sql
    run("CREATE SCHEMA filed")
    run("CREATE MASKING POLICY filed.hush AS (v STRING) RETURNS STRING -> '***'")
    run("CREATE TABLE filed.t (id INT, name STRING)")
    run("INSERT INTO filed.t VALUES (1, 'secret')")
    run("ALTER TABLE filed.t ALTER COLUMN name SET MASKING POLICY filed.hush")
    place = Path(run("DESCRIBE DETAIL filed.t").first().location.removeprefix("file:"))
    link = tmp_path_factory.mktemp("links") / "link"
    link.symlink_to(place)
    part = next(place.glob("part-*.parquet"))
    found = {"place": place, "above": place.parent, "part": part, "link": link, "name": place.name}
    yield {name: str(path) for name, path in found.items()}
    run("DROP SCHEMA filed CASCADE")


def _refused(session, attempt):
    """Whether an attempt of mallory's ends in a refusal; what comes of it otherwise."""
    with audit.as_user(session, "mallory"):
        try:
            attempt()
        except (audit.errors.AuditError, PySparkException, Py4JJavaError) as error:
            return REFUSAL in str(error) or "hide some of it" in str(error) or str(error)[:300]
    return "done"


def test_statements(session, places):
    """Resources that a session adds, and files by their names."""
    told = {
        text: _refused(session, lambda t=text: session.sql(t.format(**places)).collect())
        for text in STATEMENTS
    }
    assert told == dict.fromkeys(STATEMENTS, True)
    assert not list(Path(SparkFiles.getRootDirectory()).rglob(Path(places["part"]).name))


def test_readers(session, places):
    """Readers of any format, however the path is said."""
    told = {name: _refused(session, lambda r=read: r(session, places)) for name, read in READERS.items()}
    assert told == dict.fromkeys(READERS, True)


def test_streams(session, places, tmp_path):
    """Streams, whose options are named in any case."""

    def run(name, source):
        writer = source(session, places).writeStream.format("json").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / f"c {name}")).start(str(tmp_path / name))
        query.awaitTermination()

    told = {name: _refused(session, lambda n=name, s=source: run(n, s)) for name, source in STREAMS.items()}
    assert told == dict.fromkeys(STREAMS, True)
