"""One side of the benchmark `cost` in a process: `python -m benchmarks.cost_process <job as JSON>`.

In: a `Job`, then a line of JSON for each thing to do. Out: a line of JSON in answer to each, so that several
sides can take turns statement by statement. All sides have the same Spark with Delta, built by hand as
Delta's documentation shows; nothing of the audit is in the JVM of the others.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import sessions, tpch_data
from benchmarks.front_door import make_tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN, OPENLINEAGE, OURS = "plain", "openlineage", "ours"
_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # As `audit.session` sets them: with Spark's defaults a query of one row takes seconds on one machine.
    "spark.sql.shuffle.partitions": "4",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.driver.memory": "2g",
    # A heap that grows and shrinks costs now more, now less.
    # Its compilers' threads stay, so that their time can be told.
    "spark.driver.extraJavaOptions": "-Xms2g -XX:-UseDynamicNumberOfCompilerThreads",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_DAY = 86_400


@dataclass(frozen=True, slots=True)
class Job:
    """A side.

    Attributes:
        side: `PLAIN`, `OPENLINEAGE` or `OURS`.
        root: a folder of its own.
        jars: for the class path, by the platform's separator.
        scale: of TPC-H's tables; None for the small ones of `front_door`.
    """

    side: str
    root: str
    jars: str
    scale: float | None = None


class Side:
    """A session that may be audited, and how it ends what it records."""

    def __init__(self, job: Job) -> None:
        self._events = Path(job.root) / "events.jsonl"
        self._spark = _session(job, self._events)
        self._drain: Callable[[], object] = partial(_tell_listeners, self._spark)
        self._flush: Callable[[], object] = self._drain
        self._worked = self._compiled = self._clock = 0.0
        self._lines = 0
        _make_tables(self._spark, job.scale)
        self.started = sessions.processor_seconds(self._spark)
        if job.side == OURS:
            self._attach(Path(job.root) / "audit")
        self.attached = sessions.processor_seconds(self._spark) - self.started

    def _attach(self, root: Path) -> None:
        import audit

        # No ingest by itself: it has a line of its own.
        interceptor = audit.attach(self._spark, user="bench", root=str(root), ingest_interval_seconds=_DAY)
        audit.flush(self._spark)  # makes the tables of the root
        self._flush = partial(audit.flush, self._spark)
        self._drain = interceptor.recorder.worker.drain

    def begin(self) -> dict[str, float]:
        """What follows is measured."""
        self._drain()
        sessions.settle(self._spark)
        self._clock, self._lines = 0.0, self._written()
        self._compiled = sessions.compiler_seconds(self._spark)
        self._worked = sessions.processor_seconds(self._spark)
        return {}

    def run(self, text: str) -> dict[str, float]:
        """Run a statement and collect its answer; return when it is on record."""
        began = time.perf_counter()
        self._spark.sql(text).collect()
        self._clock += time.perf_counter() - began
        self._drain()
        return {}

    def end(self) -> dict[str, float]:
        """Seconds since `begin`.

        `processor`: of Python and the JVM, on all cores; `compiled`: of these, those of the JVM's compilers,
        and `rest` those of all else; `clock`: of the caller's thread; `ingest`: of the
        processor, from the records on disk to the tables. `events`: what OpenLineage has written.
        """
        _tell_listeners(self._spark)
        recorded = sessions.processor_seconds(self._spark)
        compiled = sessions.compiler_seconds(self._spark) - self._compiled
        self._flush()
        return {
            "processor": recorded - self._worked,
            "compiled": compiled,
            "rest": recorded - self._worked - compiled,
            "clock": self._clock,
            "ingest": sessions.processor_seconds(self._spark) - recorded,
            "events": self._written() - self._lines,
        }

    def _written(self) -> int:
        return self._events.read_bytes().count(b"\n") if self._events.exists() else 0


def _session(job: Job, events: Path) -> SparkSession:
    """The session of a side, before anything is attached to it."""
    from pyspark.sql import SparkSession

    conf = _CONF | {
        "spark.driver.extraClassPath": job.jars,
        "spark.sql.warehouse.dir": str(Path(job.root) / "warehouse"),
    }
    if job.side == OPENLINEAGE:
        conf |= {
            "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
            "spark.openlineage.transport.type": "file",
            "spark.openlineage.transport.location": str(events),
            "spark.openlineage.namespace": "benchmarks",
        }
    builder = SparkSession.builder.master(sessions.MASTER).appName("benchmarks")
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _make_tables(spark: SparkSession, scale: float | None) -> None:
    if scale is not None:
        tpch_data.register(spark, scale, lambda _text: None)
        return
    make_tables(spark)
    spark.sql("CREATE TABLE bench.merged (nation STRING, total DOUBLE) USING delta")


def _tell_listeners(spark: SparkSession) -> None:
    """Return when Spark has told its listeners everything."""
    context: Any = spark.sparkContext
    context._jsc.sc().listenerBus().waitUntilEmpty()


def main() -> None:
    """Answer until the input ends. What Spark prints goes to the error stream."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    side = Side(Job(**json.loads(sys.argv[1])))
    print(json.dumps({"started": side.started, "attached": side.attached}), file=answers, flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        print(json.dumps(getattr(side, name)(*arguments)), file=answers, flush=True)
    os._exit(0)  # the end of a driver is in no figure


if __name__ == "__main__":
    main()
