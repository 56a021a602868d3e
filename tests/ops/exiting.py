"""Run in a process of its own: a driver that ends without `audit.detach`, as scripts do.

Arguments: root, and "starts" or "starts none": whether Python still starts threads while it ends, which 3.12
does not. It says the users of its statements.
"""

from __future__ import annotations

import atexit
import sys
import threading

import audit
from audit.ingest import arrow_records
from audit.spark.embedded.spark import by_path
from tests.quick_spark import DRIVER_OF_ONE_TEST


def refuse(thread):
    """As `Thread.start` of Python 3.12 while the interpreter ends."""
    raise RuntimeError(f"can't create new thread at interpreter shutdown: {thread.name}")


def main():
    """The driver."""
    root, starts = sys.argv[1:]
    warehouse = {"spark.sql.warehouse.dir": f"{root}/warehouse"}
    spark = by_path(DRIVER_OF_ONE_TEST | warehouse, master="local[1]")
    audit.attach(spark, user="nobody", root=f"{root}/audit")
    if starts == "starts none":
        # Runs before what was registered earlier: the audit's own.
        atexit.register(setattr, threading.Thread, "start", refuse)
    arrow_records._CHUNK_BYTES = 1  # each record is parsed by itself
    for number in range(3):
        with audit.as_user(spark, f"user{number}"):
            spark.sql(f"SELECT {number} AS a").collect()


if __name__ == "__main__":
    main()
