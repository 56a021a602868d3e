"""Several SparkContexts in one process, one after the other, as test suites and schedulers have them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick_spark import DRIVER_OF_ONE_TEST, GENERATED_CODE

pytestmark = [
    pytest.mark.spark,
    pytest.mark.long("starts two drivers, each with two contexts; tests/ops has the short forms"),
    pytest.mark.slow("each driver starts Spark twice"),
]

PROGRAM = """
import sys
import audit
from audit.spark.embedded.spark import embedded

home, attached = sys.argv[1], sys.argv[2] == "audited"
conf = dict(pair.split("=", 1) for pair in sys.argv[3:])
for number in range(2):
    spark = embedded(f"{home}/{number}", app_name="job", master="local[1]", conf=conf)
    if attached:
        audit.attach(spark, user="ann", root=f"{home}/{number}", durable=False)
    spark.sql("CREATE TABLE t USING delta AS SELECT id FROM range(3)")
    spark.createDataFrame(spark.table("t").where("id > 0").rdd).createOrReplaceTempView("v")
    print("rows", number, sorted(row.id for row in spark.sql("SELECT id FROM v").collect()))
    print("left of before", [view.name for view in spark.catalog.listTables() if view.isTemporary])
    spark.stop()
"""


def output(home: Path, how: str) -> str:
    """What a driver prints of its own."""
    # Spark 4.2 decodes what listTables gives with generated code alone.
    settings = {**DRIVER_OF_ONE_TEST, GENERATED_CODE: "FALLBACK"}
    conf = [f"{key}={value}" for key, value in settings.items()]
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(home), how, *conf],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_a_context_after_another_one(tmp_path):
    """Each has its own root; what is printed is the same, plain and audited, and each has its records."""
    assert output(tmp_path / "audited", "audited") == output(tmp_path / "plain", "plain")
    for number in range(2):
        log = tmp_path / "audited" / str(number) / "query_history" / "_delta_log"
        assert any(log.glob("*.json"))
