"""The Spark of a benchmark: local, two cores, its root in a folder that is gone afterwards.

In: a name. Out: a SparkSession that is not audited, and the folder. The folder lies beside the data of
the benchmarks, so on the disk of this project, not in a `/tmp` that may be memory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from audit.spark.embedded.spark import embedded
from audit.spark.jvm import java_class
from benchmarks.result import DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local[2]"
_SOURCE = Path(__file__).parents[1]
_COMPILERS = ("C1 Compiler", "C2 Compiler")
"""What Linux shows of their names."""


@contextmanager
def folder(name: str) -> Iterator[Path]:
    """A folder of its own for one run."""
    DATA.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{name}-", dir=DATA, ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def session(root: Path, conf: dict[str, str] | None = None) -> Iterator[SparkSession]:
    """The embedded Spark on two cores."""
    spark = embedded(root, app_name="benchmarks", master=MASTER, conf=conf)
    try:
        yield spark
    finally:
        spark.stop()


def driver(program: str, folder: Path, environ: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """A driver in a process of its own, which imports this checkout; what it prints can be read.

    Args:
        program: the text of it, Python.
        folder: where it starts; Spark may leave a warehouse there.
        environ: beside the environment of this process.
    """
    path = f"{_SOURCE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env={**os.environ, **(environ or {}), "PYTHONPATH": path},
    )


def settle(spark: SparkSession) -> None:
    """Let the JVM collect its garbage now, not inside what is timed next."""
    jvm = spark.sparkContext._jvm
    if jvm is not None:
        jvm.java.lang.System.gc()


def compiler_seconds(spark: SparkSession) -> float:
    """What the threads of the JVM's compilers have had of it: the same code is compiled once, and late.

    Of those that run: the JVM has to keep them (`-XX:-UseDynamicNumberOfCompilerThreads`).
    """
    number = java_class(spark.sparkContext, "java.lang.ProcessHandle").current().pid()
    found = 0
    for task in Path(f"/proc/{number}/task").iterdir():
        with suppress(FileNotFoundError):  # a thread that has ended meanwhile
            if (task / "comm").read_text().startswith(_COMPILERS):
                found += int((task / "schedstat").read_text().split()[0])
    return found / 1e9


def processor_seconds(spark: SparkSession) -> float:
    """What this process and its JVM have had of the processor so far, on all cores."""
    process = java_class(spark.sparkContext, "java.lang.ProcessHandle").current()
    in_jvm: int = process.info().totalCpuDuration().get().toNanos()
    return time.process_time() + in_jvm / 1e9
