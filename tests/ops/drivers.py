"""Run in a process of its own: a driver that is attached at the same instant as others, and runs statements.

Arguments: root, warehouse, number of the driver, number of statements. It says "ready" on stdout, waits for a
line on stdin, attaches, and says the users under whom its statements ran; each statement has its own user.
"""

from __future__ import annotations

import sys

import audit
from audit.spark.embedded.spark import by_path
from tests.quick_spark import DRIVER_OF_ONE_TEST


def main():
    """The driver."""
    root, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spark = by_path(
        DRIVER_OF_ONE_TEST | {"spark.sql.warehouse.dir": f"{root}/warehouse{number}"}, master="local[1]"
    )
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    audit.attach(spark, user="nobody", root=f"{root}/audit", ingest_interval_seconds=1)
    for i in range(count):
        with audit.as_user(spark, f"d{number}s{i}"):
            spark.sql(f"SELECT {i} AS a").collect()
        if i == count // 2:
            audit.flush(spark)
    audit.detach(spark)


if __name__ == "__main__":
    main()
