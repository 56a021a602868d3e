"""What a durable append to the spool costs, from one thread and from several.

In: a folder on the disk in question. Out: median and 95th percentile of an append that waits for the disk.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from audit.core.ids import IdGenerator
from audit.spool import Spool
from benchmarks import sessions
from benchmarks.result import Options, Result, Row, Say, milliseconds

_THREADS = (1, 2, 8)
_TEXT = "SELECT c_name, SUM(o_total) FROM orders JOIN customer USING (c_key) GROUP BY c_name " * 4


def run(options: Options, say: Say) -> Result:
    """Appends start, end and record of statements from 1, 2 and 8 threads."""
    statements = options.pick("records", full=4_000, quick=200)
    rows = []
    for threads in _THREADS:
        say(f"{threads} threads")
        with sessions.folder("spool") as root:
            rows.append(_measure(root, threads, statements))
    return Result(
        "A durable append to the spool",
        ("median", "95th percentile"),
        tuple(rows),
        f"{statements:,} statements, each a start and an end of which the caller waits until the disk"
        " has them (timed), and a record that it does not wait for.",
    )


def _measure(root: Path, threads: int, statements: int) -> Row:
    ids, costs = IdGenerator(), list[float]()

    def work() -> None:
        mine = []
        for _ in range(statements // threads):
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
        rate = len(costs) / (time.perf_counter() - began)
    costs.sort()
    return Row(
        f"{threads} thread{'s' if threads > 1 else ''}, {rate:,.0f} appends a second",
        milliseconds(costs[len(costs) // 2], 3),
        milliseconds(costs[len(costs) * 95 // 100], 3),
    )
