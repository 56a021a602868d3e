"""TPC-H's tables and queries, fetched and made once, kept under `.data`.

In: a scale factor. Out: Delta tables made from what `tpchgen-cli` generates, and the 22 query texts of
Spark's own tests (`spark-sql_2.13-4.2.0-tests.jar` on Maven Central). Neither is part of this project.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import urllib.request
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from audit.embedded.jars import MAVEN_CENTRAL, sha256_of
from benchmarks.result import DATA, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
QUERIES = 22
_JAR = "spark-sql_2.13-4.2.0-tests.jar"
_MAVEN_PATH = f"org/apache/spark/spark-sql_2.13/4.2.0/{_JAR}"
_SHA256 = "810bef6fd568e1626aad7354a1161e9e5ac629fbc55ba0a9a4e3cec8c06376eb"


def queries(say: Say) -> dict[str, str]:
    """The texts of q1 to q22."""
    with zipfile.ZipFile(_tests_jar(say)) as jar:
        return {f"q{n}": jar.read(f"tpch/q{n}.sql").decode() for n in range(1, QUERIES + 1)}


def register(spark: SparkSession, scale: float, say: Say) -> None:
    """Make the tables of the schema `tpch`, the current one; generate and load what is missing."""
    folder = DATA / f"tpch-{scale:g}"
    spark.sql("CREATE SCHEMA tpch")
    spark.sql("USE tpch")
    for name in TABLES:
        path = folder / name
        if not (path / "_SUCCESS").exists():
            _load(spark, _generated(folder, scale, say), path, say)
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{path}'")


def _load(spark: SparkSession, generated: Path, path: Path, say: Say) -> None:
    say(f"loading {path.name}")
    shutil.rmtree(path, ignore_errors=True)
    spark.read.parquet(str(generated / f"{path.name}.parquet")).write.format("delta").save(str(path))
    (path / "_SUCCESS").touch()


def _generated(folder: Path, scale: float, say: Say) -> Path:
    """The folder of generated Parquet files, one a table."""
    target = folder / "generated"
    if not target.exists():
        say(f"generating TPC-H at scale {scale:g}")
        part = folder / "generated.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        arguments = [_generator(), "parquet", "-s", f"{scale:g}", f"--output-dir={part}"]
        subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)
        part.rename(target)
    return target


def _generator() -> str:
    found = shutil.which("tpchgen-cli", path=sysconfig.get_path("scripts")) or shutil.which("tpchgen-cli")
    if found is None:
        sys.exit("there is no tpchgen-cli: install the extra `bench` (make setup does)")
    return found


def _tests_jar(say: Say) -> Path:
    path = DATA / _JAR
    if not path.exists() or sha256_of(path) != _SHA256:
        url = f"{os.environ.get('AUDIT_MAVEN_URL', MAVEN_CENTRAL).rstrip('/')}/{_MAVEN_PATH}"
        say(f"fetching {url} (53 MB)")
        DATA.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        with urllib.request.urlopen(url, timeout=60) as answer, part.open("wb") as out:  # noqa: S310 - the sha256 decides
            shutil.copyfileobj(answer, out)
        if sha256_of(part) != _SHA256:
            sys.exit(
                f"{url} gave another file than the one that was measured with (sha256 {sha256_of(part)})"
            )
        part.replace(path)
    return path
