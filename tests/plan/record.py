"""Record the statements of `statements.json` from a real Spark into `recorded/`.

Run with AUDIT_TEST_JARS set: `python -m tests.plan.record`. What the engine answers is written beside the
plan as `expect`; read the difference before you commit it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lineage.plan import analyze_plan
from tests.plan.brief import brief

HERE = Path(__file__).parent


def test_record(spark: Any, reader: Any) -> None:
    """Not a test of the suite: pytest lends it the Spark of `conftest`."""
    for name, sql in json.loads((HERE / "statements.json").read_text()).items():
        plan = spark.sql(sql)._jdf.queryExecution().analyzed()
        shape, facts = reader.read(plan)
        case = {
            "sql": sql,
            "expect": brief(analyze_plan(shape, facts)),
            "leaves": [_kept(asdict(leaf)) for leaf in facts.leaves],
            "plan": json.loads(shape),
        }
        text = json.dumps(case, indent=None, separators=(",", ":"))
        (HERE / "recorded" / f"{name}.json").write_text(text + "\n")


def _kept(leaf: dict[str, Any]) -> dict[str, Any]:
    """What is the same on every machine and every run."""
    return {key: value for key, value in leaf.items() if value and key not in ("locations", "table_id")}


if __name__ == "__main__":
    raise SystemExit(pytest.main([__file__, "-q"]))
