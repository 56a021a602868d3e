"""Run in a process of its own: another driver on the root of a test, with a catalog of its own.

Arguments: the root of the audit, a folder, the place of a table. It knows that table as `t`, runs the
statements that come on stdin, a line each, and answers each with the rows that it has got, as JSON.
"""

from __future__ import annotations

import json
import sys

import audit
from audit.spark.embedded.spark import by_path
from tests.quick_spark import DRIVER_OF_ONE_TEST


def main():
    """The driver."""
    root, folder, place = sys.argv[1:]
    spark = by_path(DRIVER_OF_ONE_TEST | {"spark.sql.warehouse.dir": folder}, master="local[1]")
    spark.sql(f"CREATE TABLE t USING delta LOCATION '{place}'")
    audit.attach(spark, user="ann", root=root)
    for line in sys.stdin:
        rows = [list(row) for row in spark.sql(line).collect()]
        sys.stdout.write(json.dumps(rows) + "\n")
        sys.stdout.flush()
    audit.detach(spark)


if __name__ == "__main__":
    main()
