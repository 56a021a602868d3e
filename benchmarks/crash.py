"""The crash test at length: `python -m benchmarks.crash [--kills 200] [--seed N]`.

In: how many drivers to kill. Out: what they said against what the tables hold; exit code 1 where a
statement that returned is missing or one stands there twice.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections import Counter
from pathlib import Path

from audit.spark import by_path
from tests.crash.supervisor import run
from tests.ops.helpers import ingest_all, make_tables, read


def main() -> None:
    """Parse, kill, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))  # noqa: S311 - no secret
    chosen = parser.parse_args()
    print(f"{chosen.kills} kills, --seed {chosen.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        outcome = run(Path(folder), chosen.kills, chosen.seed)
        print(f"{outcome.kills} killed in {time.monotonic() - began:.0f} s", flush=True)
        spark, root = by_path(), Path(folder) / "audit"
        make_tables(spark, root)
        errors = [str(one.error) for one in ingest_all(spark, root) if one.error]
        statuses = Counter((row.user_name, row.execution_status) for row in read(spark, root))
        records = Counter(row.user_name for row in read(spark, root, "access_history"))
        spark.stop()
    faults = errors + outcome.faults(statuses, records)
    incomplete = sum(count for (_, status), count in statuses.items() if status == "INCOMPLETE")
    print(
        f"{len(outcome.returned)} statements returned, {sum(statuses.values())} rows, {incomplete} INCOMPLETE"
    )
    print("\n".join(faults) or "nothing lost, nothing twice")
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
