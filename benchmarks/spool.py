"""What a durable append costs: median and 95th percentile, from 1 thread and from 8.

In: a directory on the disk in question (first argument; a temporary one by default). Out: a table.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from audit.ids import IdGenerator
from audit.spool import Spool

_STATEMENTS = 2_000
_TEXT = "SELECT c_name, SUM(o_total) FROM orders JOIN customer USING (c_key) GROUP BY c_name " * 4


def measure(root: Path, threads: int) -> None:
    """Prints one line for `threads` threads that append start, end and record of their statements."""
    ids = IdGenerator()
    costs: list[float] = []

    def work() -> None:
        mine = []
        for _ in range(_STATEMENTS // threads):
            query_id = ids.new()
            before = time.perf_counter()
            spool.start(query_id, {"query_text": _TEXT, "user_name": "alice"})
            middle = time.perf_counter()
            spool.end(query_id, {"status": "SUCCESS"})
            mine += [middle - before, time.perf_counter() - middle]
            spool.record(query_id, {"query_text": _TEXT, "status": "SUCCESS"})
        costs.extend(mine)

    with Spool.open(root) as spool:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        began = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        seconds = time.perf_counter() - began
        stats = spool.stats()
    costs.sort()
    sys.stdout.write(
        f"{threads} threads: median {statistics.median(costs) * 1e3:.3f} ms,"
        f" p95 {costs[len(costs) * 95 // 100] * 1e3:.3f} ms, {len(costs) / seconds:,.0f} durable appends/s,"
        f" {stats.appends:,} appends in {stats.syncs:,} syncs\n"
    )


def main() -> None:
    """Measures with 1, 2 and 8 threads."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else None) as directory:
        for threads in (1, 2, 8):
            measure(Path(directory), threads)


if __name__ == "__main__":
    main()
