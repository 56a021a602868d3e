"""Delta tables of ten thousand versions or files without ten thousand commits: logs written by hand.

In: a table that Spark has made and written one file into. Out: the same with more versions, more files, or
more tables like it. What Spark has committed is the pattern: every commit has its in-commit timestamp, its
statement's id and its checksum file; the last checkpoint is Delta's own, those before are made of it. Data
files are links to the one that Spark has written, so their sizes are true and the disk holds one.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from audit.spark.jvm import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SPACING = 120_000  # milliseconds between versions: ten thousand of them are 14 days
_CHECKPOINTS = 10  # commits from one to the next, as Delta's default is

MAKE_VERSIONS = "CREATE TABLE {} (a BIGINT, b STRING) DATA_RETENTION_TIME_IN_DAYS = 30"
"""A table for `more_versions`, on an audited session."""


@dataclass(frozen=True, slots=True)
class Versions:
    """When each version of a table was made, in milliseconds since the epoch, and by which statement."""

    times: tuple[int, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Log:
    """The log of a table after one INSERT: a commit is lines of JSON."""

    folder: Path

    @classmethod
    def of(cls, spark: SparkSession, table: str) -> _Log:
        location = spark.sql(f"DESCRIBE DETAIL {table}").collect()[0].location
        return cls(Path(location.removeprefix("file:")))

    def path(self, version: int, kind: str) -> Path:
        return self.folder / "_delta_log" / f"{version:020d}.{kind}"

    def read(self, version: int) -> dict[str, dict[str, Any]]:
        lines = self.path(version, "json").read_text(encoding="utf-8").splitlines()
        return {kind: action for line in lines for kind, action in json.loads(line).items()}

    def write(self, version: int, actions: list[dict[str, Any]], checksum: dict[str, Any] | None) -> None:
        self._replace(version, "json", "".join(json.dumps(action) + "\n" for action in actions))
        if checksum is not None:
            self._replace(version, "crc", json.dumps(checksum))

    def checksum(self, version: int) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.path(version, "crc").read_text(encoding="utf-8"))
        return found

    def link(self, add: dict[str, Any], number: int) -> str:
        """One more file of the same content; its path."""
        name = f"part-{number:05d}-{uuid.uuid4()}.snappy.parquet"
        os.link(self.folder / add["path"], self.folder / name)
        return name

    def _replace(self, version: int, kind: str, text: str) -> None:
        path = self.path(version, kind)
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)  # Hadoop's, of what stood there before
        path.write_text(text, encoding="utf-8")


def more_versions(spark: SparkSession, table: str, count: int) -> Versions:
    """Have a table look as if it had been overwritten again and again until now, one file each time."""
    log = _Log.of(spark, table)
    first = int(time.time() * 1000) - count * _SPACING
    times = tuple(first + version * _SPACING for version in range(count))
    statements = tuple(_query_id(millis) for millis in times)
    made, written, checksum = log.read(0), log.read(1), log.checksum(1)
    _redate(log, 0, made, times[0], statements[0])
    add = written["add"]
    for version in range(1, count):
        new = {**add, "path": add["path"] if version == 1 else log.link(written["add"], version)}
        new["modificationTime"] = times[version]
        gone = [] if version == 1 else [{"remove": _removed(add, times[version])}]
        info = _dated(written["commitInfo"], times[version], statements[version])
        summed = checksum | {"inCommitTimestampOpt": times[version], "txnId": info["txnId"]}
        if "allFiles" in summed:
            summed["allFiles"] = [new]
        log.write(version, [{"commitInfo": info}, *gone, {"add": new}], summed)
        add = new
    _checkpoint(spark, log, count - 1)
    _earlier_checkpoints(log, count - 1, range(_CHECKPOINTS, count - 1, _CHECKPOINTS))
    return Versions(times, statements)


def more_files(spark: SparkSession, table: str, count: int) -> int:
    """Have a table of one file hold that many; their bytes."""
    log = _Log.of(spark, table)
    written = log.read(1)
    add, now = written["add"], int(time.time() * 1000)
    files = [{"add": {**add, "path": log.link(add, number)}} for number in range(1, count)]
    info = _dated(
        written["commitInfo"], max(now, written["commitInfo"]["inCommitTimestamp"] + 1), _query_id(now)
    )
    log.write(2, [{"commitInfo": info}, *files], None)
    _checkpoint(spark, log, 2)
    return count * int(add["size"])


def more_tables(spark: SparkSession, table: str, schema: str, count: int) -> None:
    """Copies of a table in a schema, as if each had been made by itself."""
    log = _Log.of(spark, table)
    old = log.read(0)["metaData"]["id"]

    def make(number: int) -> None:
        name, new = f"t{number:03d}", str(uuid.uuid4())
        folder = log.folder.parent / f"{name}-{new}"
        shutil.copytree(log.folder, folder, ignore=shutil.ignore_patterns(".*.crc"))
        for path in (folder / "_delta_log").glob("0*"):
            path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        spark.sql(f"CREATE TABLE {schema}.{name} USING delta LOCATION '{folder}'")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(make, range(count)))


def _redate(log: _Log, version: int, actions: dict[str, Any], millis: int, statement: str) -> None:
    info = _dated(actions["commitInfo"], millis, statement)
    rest = [{kind: action} for kind, action in actions.items() if kind != "commitInfo"]
    log.write(
        version, [{"commitInfo": info}, *rest], log.checksum(version) | {"inCommitTimestampOpt": millis}
    )


def _dated(info: dict[str, Any], millis: int, statement: str) -> dict[str, Any]:
    own = {"timestamp": millis, "inCommitTimestamp": millis, "userMetadata": statement}
    return {**info, **own, "txnId": str(uuid.uuid4())}


def _removed(add: dict[str, Any], millis: int) -> dict[str, Any]:
    kept = {key: add[key] for key in ("path", "partitionValues", "size")}
    return {**kept, "deletionTimestamp": millis, "dataChange": True, "extendedFileMetadata": True}


def _query_id(millis: int) -> str:
    """A UUIDv7 of a moment, as the audit gives them (RFC 9562, section 5.7)."""
    value = (millis << 80) | (uuid.uuid4().int & ((1 << 80) - 1))
    value = value & ~(0xF000 << 64) | (0x7000 << 64)
    return str(uuid.UUID(int=value & ~(0xC000 << 48) | (0x8000 << 48)))


def _checkpoint(spark: SparkSession, log: _Log, version: int) -> None:
    """Delta's own; what it remembers of the table before is forgotten."""
    delta = java_class(spark.sparkContext, "org.apache.spark.sql.delta.DeltaLog")
    none = java_class(spark.sparkContext, "scala.Option").empty()
    delta.clearCache()
    of = delta.forTable(spark._jsparkSession, str(log.folder))
    of.checkpoint(of.getSnapshotAt(version, none, none, none, False), none)  # noqa: FBT003  Scala's order
    delta.clearCache()


def _earlier_checkpoints(log: _Log, last: int, versions: range) -> None:
    """What Delta's last checkpoint tells of the versions before: a table of one file, and those removed."""
    whole = pq.read_table(log.path(last, "checkpoint.parquet"))
    rows = whole.to_pylist()
    removed = [at for at, row in enumerate(rows) if row["remove"] is not None]
    removed.sort(key=lambda at: rows[at]["remove"]["deletionTimestamp"])
    rest = [at for at, row in enumerate(rows) if row["remove"] is None and row["add"] is None]
    pattern = next(row for row in rows if row["add"] is not None)
    for version in versions:
        written = log.read(version)["add"]
        own = {"path": written["path"], "modificationTime": written["modificationTime"]}
        add = pa.Table.from_pylist([{**pattern, "add": pattern["add"] | own}], whole.schema)
        state = pa.concat_tables([whole.take([*rest, *removed[: version - 1]]), add])
        pq.write_table(state, log.path(version, "checkpoint.parquet"))
