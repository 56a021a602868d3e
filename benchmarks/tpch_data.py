"""TPC-H's tables, made once, kept under `.data`.

In: a scale factor. Out: Delta tables made from what `tpchgen-cli` generates.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.result import DATA, Say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


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
