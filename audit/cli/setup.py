"""`audit setup`: what a start of Spark needs beside Python's packages, made ready once."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.output import Output, json_option
from audit.core import config
from audit.core.errors import ClassArchiveError, RootNotLocal, RootUnwritable
from audit.spark.embedded import class_archive, jars, java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What most sessions do, so that its classes are in the archive.
_USUAL = (
    "CREATE SCHEMA usual",
    "CREATE TABLE usual.a (id INT, name STRING) USING delta",
    "INSERT INTO usual.a VALUES (1, 'one'), (2, 'two')",
    "CREATE VIEW usual.v AS SELECT id, count(*) AS n FROM usual.a GROUP BY id",
    "CREATE TABLE usual.b USING delta AS SELECT a.*, v.n FROM usual.a JOIN usual.v ON a.id = v.id",
    "MERGE INTO usual.a USING usual.b ON a.id = b.id WHEN MATCHED THEN UPDATE SET name = b.name",
    "UPDATE usual.a SET name = 'two' WHERE id = 2",
    "DELETE FROM usual.a WHERE id = 1",
    "SELECT a.name, sum(b.n) FROM usual.a JOIN usual.b ON a.id = b.id GROUP BY a.name ORDER BY 1",
)


@click.command()
@click.option(
    "--archive",
    is_flag=True,
    help="Also make an archive of Java's classes (a minute, 240 MB), with which each session starts in half"
    " the time.",
)
@click.option("--root", help="Also make this folder for the audit tables.")
@json_option
def setup(output: Output, root: str | None, *, archive: bool) -> None:
    """Check Java and fetch Delta's jars. Afterwards Spark starts without a network."""
    folder = None if root is None else _made(root)
    version = java.find(os.environ).version
    found = jars.resolve(os.environ, say=output.progress)
    rows = [
        {"what": jar.name, "version": jar.version, "path": str(path)}
        for jar, path in zip(jars.locked(), found, strict=True)
    ]
    if folder is not None:
        rows.append({"what": "root", "version": "", "path": str(folder)})
    if archive:
        rows.append({"what": "class archive", "version": version, "path": str(_archive(output, found))})
    output.rows(rows)


def _made(root: str) -> Path:
    """The folder of a root of this machine, made where it is missing."""
    folder = config.load({"root": root}).local_root
    if folder is None:
        raise RootNotLocal(f"{root} is not on this machine", "make it where it lies; Spark writes it itself")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RootUnwritable(
            f"{folder} cannot be made ({error.strerror})", "choose another --root"
        ) from error
    if not os.access(folder, os.W_OK):
        raise RootUnwritable(f"{folder} cannot be written", "choose another --root, or its permissions")
    return folder


def _archive(output: Output, delta: tuple[Path, ...]) -> Path:
    target = class_archive.locate(os.environ, delta)
    if target.is_file():
        return target
    output.progress(f"making {target} (about a minute, once)")
    # With the process id: two set-ups may run at once, and each renames its own file into place.
    part = target.with_name(f"{target.stem}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="spark-access-history-", ignore_cleanup_errors=True) as root:
            _usual_session(Path(root), part, target)
    except OSError as error:
        raise ClassArchiveError(
            f"cannot write {part} ({error})", "set XDG_CACHE_HOME to a folder that you may write"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return target


def _usual_session(root: Path, part: Path, target: Path) -> None:
    import audit
    from audit.spark.embedded.spark import log_path, stop_jvm

    conf = {"spark.driver.extraJavaOptions": class_archive.dump_option(part)}
    spark: SparkSession = audit.session(str(root), user="setup", master="local[2]", conf=conf)
    for statement in _USUAL:
        spark.sql(statement).collect()
    # A DataFrame writer and an ingest load classes that SQL statements do not.
    spark.table("usual.a").groupBy("name").count().write.mode("append").format("delta").saveAsTable("usual.c")
    audit.flush(spark)
    spark.sql("SELECT count(*) FROM account_usage.access_history").collect()
    audit.detach(spark)
    # The JVM writes the archive when it ends (`-XX:ArchiveClassesAtExit`).
    class_archive.keep(stop_jvm(spark), part, target, log_path(root))
