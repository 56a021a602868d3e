"""Run in a process of its own: a root is used, copied, and its copy is used. Argument: a folder for both.

Prints a line of JSON that says what the copy showed, and which files of the first one have changed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import audit
from tests.quick_spark import DRIVER_OF_ONE_TEST

CONF = {**DRIVER_OF_ONE_TEST, "spark.sql.sources.default": "delta"}
# What an open metastore and the logs of this JVM write.
_BUSY = ("metastore", "logs", "tmp")


def files(root):
    """The files of a root with their sizes and times."""
    found = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): [path.stat().st_size, path.stat().st_mtime_ns]
        for path in found
        if path.relative_to(root).parts[0] not in _BUSY
    }


def use(root, *texts):
    """The rows of statements in a session on a root, which is stopped."""
    spark = audit.session(user="ann", root=str(root), master="local[2]", conf=CONF)
    found = []
    try:
        for text in texts:
            if "account_usage" in text:
                audit.flush(spark)
            found.append([[str(value) for value in row] for row in spark.sql(text).collect()])
        return found
    finally:
        spark.stop()


def main():
    """A story of two roots."""
    first, second = Path(sys.argv[1]) / "a root", Path(sys.argv[1]) / "elsewhere"
    use(
        first,
        "CREATE TABLE t (a INT)",
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE shared CLONE t",
        "CREATE TABLE dropped AS SELECT 7 AS a",
        "CREATE VIEW v AS SELECT a FROM t",
        "DROP TABLE dropped",
    )
    before = files(first)
    shutil.copytree(first, second)
    seen = use(
        second,
        "SELECT a FROM t",
        "SELECT a FROM shared",
        "INSERT INTO t VALUES (2)",
        "INSERT INTO shared VALUES (3)",
        "SELECT a FROM v ORDER BY a",
        "UNDROP TABLE dropped",
        "SELECT a FROM dropped",
        "CREATE TABLE fresh AS SELECT 9 AS a",
        "SELECT a FROM t AT (VERSION => 1)",
        "SELECT count(*) FROM account_usage.query_history WHERE query_text = 'INSERT INTO t VALUES (1)'",
        # The first one's records have none of it.
        "SELECT count(*) FROM account_usage.query_history WHERE query_text = 'INSERT INTO shared VALUES (3)'",
    )
    changed = sorted(name for name, found in files(first).items() if before.get(name) != found)
    shutil.rmtree(first)
    alone = use(
        second, "SELECT a FROM shared ORDER BY a", "SELECT a FROM t ORDER BY a", "SELECT a FROM fresh"
    )
    told = {"seen": seen, "changed": changed, "alone": alone}
    print(json.dumps(told), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
