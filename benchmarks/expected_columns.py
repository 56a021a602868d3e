"""What Spark's own analyzed plans say of the queries of TPC-H and TPC-DS: the judge of every extractor.

In: the texts and schemas. Out: of each query its output columns with their base columns, read from the plan;
kept under `.data` until Spark or the reader of its plans is another one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from audit.spark.plans.plan_facts import PlanFactsReader
from benchmarks import sessions
from benchmarks.peers.process import Job
from benchmarks.result import DATA, Say
from lineage import plan
from lineage.model import Access

Expected = dict[str, list[tuple[str, list[str]]]]
"""Of each query each output column's name with its base columns, `table.column`."""


def expected(job: Job, say: Say) -> Expected:
    """Asks Spark on first use."""
    path = DATA / f"expected-columns-{version('pyspark')}-{_reader()}.json"
    if not path.exists():
        say("asking Spark what each output column comes from")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(_by_plans(job)), encoding="utf-8")
    found: Expected = json.loads(path.read_text(encoding="utf-8"))
    return found


def _reader() -> str:
    """The code that reads plans, in 16 hex digits."""
    files = sorted(Path(plan.__file__).parent.glob("*.py"))
    return hashlib.blake2b(b"".join(file.read_bytes() for file in files), digest_size=8).hexdigest()


def _by_plans(job: Job) -> Expected:
    found: Expected = {}
    with sessions.folder("expected") as root, sessions.session(root) as spark:
        for corpus, tables in job.schemas.items():
            spark.sql(f"CREATE SCHEMA {corpus}")
            spark.sql(f"USE {corpus}")
            for name, columns in tables.items():
                spark.sql(f"CREATE TABLE {name} ({_listed(columns)}) USING parquet")
            reader = PlanFactsReader(spark.sparkContext._jvm)
            for name, (of, sql) in job.queries.items():
                if of == corpus:
                    analyzed = spark.sql(sql)._jdf.queryExecution().analyzed()
                    found[name] = _columns(plan.analyze_plan(*reader.read(analyzed)))
    return found


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{column} {kind}" for column, kind in columns.items())


def _columns(access: Access) -> list[tuple[str, list[str]]]:
    return [
        (column.name, [f"{ref.object_name.split('.')[-1]}.{ref.column_name}" for ref in column.base_sources])
        for column in access.columns
    ]
