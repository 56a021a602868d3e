"""Run in a process of its own, to be killed: a driver whose threads issue statements until it dies.

Arguments: root, name, file descriptor. On the descriptor it says, unbuffered, `A` once it is attached,
`B <user>` before and `E <user>` after each statement; each has a user of its own, its marker. The
first thing that it does is what a restart does: it adopts the spools of dead drivers, beside its statements.
"""

from __future__ import annotations

import itertools
import os
import random
import sys
import threading

from pyspark.sql import functions as f

import audit
from audit.spark.embedded.spark import by_path
from tests.quick_spark import DRIVER_OF_ONE_TEST


def kinds(spark, name):
    """Statements of each kind, each one record: queries, inserts, DDL, DataFrame actions."""
    table = f"t_{name}"
    return (
        lambda i: spark.sql(f"SELECT {i} AS a, '{name}' AS b").collect(),
        lambda i: spark.range(3).select((f.col("id") + i).alias("x")).count(),
        lambda i: spark.sql(f"CREATE TABLE IF NOT EXISTS {table} (a INT) USING parquet"),
        lambda i: spark.sql(f"INSERT INTO {table} VALUES ({i})"),
        lambda i: spark.table(table).collect(),
        lambda i: spark.sql(f"CREATE OR REPLACE TEMP VIEW v_{name} AS SELECT {i} AS a"),
    )


def work(spark, name, say):
    """Statements for ever, in a random order after the tables are there."""
    chance = random.Random(name)  # noqa: S311 - which statement is no secret
    every = kinds(spark, name)
    for i in itertools.count():
        run = every[2] if i == 0 else chance.choice(every)
        user = f"{name}.{i}"
        with audit.as_user(spark, user):
            os.write(say, f"B {user}\n".encode())
            run(i)
            os.write(say, f"E {user}\n".encode())


def main():
    """The driver."""
    root, name, say = sys.argv[1], sys.argv[2], int(sys.argv[3])
    conf = {**DRIVER_OF_ONE_TEST, "spark.sql.warehouse.dir": f"{root}/warehouse/{name}"}
    spark = by_path(conf, master="local[2]")
    audit.attach(spark, user="nobody", root=f"{root}/audit", ingest_interval_seconds=1)
    os.write(say, b"A\n")
    for thread in range(2):
        threading.Thread(target=work, args=(spark, f"{name}t{thread}", say)).start()


if __name__ == "__main__":
    main()
