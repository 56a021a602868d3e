"""One benchmark in this process: `python -m benchmarks.one <name> <options as JSON>`.

In: a name of `NAMES`. Out: its result among the others, for the report; its table on the terminal.
"""

from __future__ import annotations

import importlib
import json
import sys
import time

from benchmarks import machine, report
from benchmarks.result import Options, Result

NAMES = (
    "front_door",
    "cost",
    "cross_check",
    "tpch",
    "ingest",
    "verify",
    "checks",
    "year",
    "answers",
    "start",
    "exit",
    "spool",
    "crash",
    "lineage_speed",
    "lineage_walk",
    "time_travel",
    "backups",
    "policies",
    "sql_corpus",
)


def main() -> None:
    """Run it."""
    name, options = sys.argv[1], Options(**json.loads(sys.argv[2]))
    load, pace = machine.load(), machine.pace()
    began, worked = time.monotonic(), machine.processor_time()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    result: Result = importlib.import_module(f"benchmarks.{name}").run(options, say)
    print("\n".join(report.table(result)), flush=True)
    stolen = (machine.processor_time() - worked).stolen_share
    report.keep(name, NAMES, options, result, report.Around(load, pace, stolen))


if __name__ == "__main__":
    main()
