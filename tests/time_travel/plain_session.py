"""Run in a process of its own: the documents' examples in `audit.session()` as it is. Argument: its root.

Prints a line of JSON: what SHOW TABLES HISTORY shows after each part of the larger example, and what the
others gave.
"""

from __future__ import annotations

import json
import sys

import audit

# "Dropping and restoring a table multiple times", with Spark's types (docs/time-travel.md, Differences).
STORY = (
    (
        "CREATE DATABASE mytestdb;",
        "USE mytestdb;",
        "CREATE TABLE loaddata1 AS SELECT id AS c0 FROM range(48);",
        "CREATE TABLE proddata1 AS SELECT id AS c0 FROM range(12);",
    ),
    ("DROP TABLE loaddata1;",),
    (
        "CREATE TABLE loaddata1 (c1 DECIMAL);",
        "INSERT INTO loaddata1 VALUES (1111), (2222), (3333), (4444);",
        "DROP TABLE loaddata1;",
        "CREATE TABLE loaddata1 (c1 STRING);",
    ),
    ("ALTER TABLE loaddata1 RENAME TO loaddata3;", "UNDROP TABLE loaddata1;"),
    ("ALTER TABLE loaddata1 RENAME TO loaddata2;", "UNDROP TABLE loaddata1;"),
)
OTHERS = (
    "CREATE TABLE mytable(col1 DECIMAL, col2 DATE) DATA_RETENTION_TIME_IN_DAYS=90;",
    "ALTER TABLE mytable SET DATA_RETENTION_TIME_IN_DAYS=30;",
    """SHOW TABLES ->> SELECT "name", "retention_time" FROM $1 WHERE "name" IN ('mytable', 'proddata1');""",
    """SHOW SCHEMAS ->> SELECT "name", "retention_time" FROM $1 WHERE "retention_time" = 0;""",
    "SELECT sum(c1) FROM loaddata2 AT(OFFSET => 0);",
    "CREATE TABLE restored_table CLONE loaddata2 AT(OFFSET => 0);",
    "DROP TABLE loaddata2;",
    "SELECT sum(c1) FROM restored_table;",
    "DROP DATABASE mytestdb CASCADE;",
    "UNDROP DATABASE mytestdb;",
    "SELECT count(*) FROM mytestdb.proddata1;",
    "SHOW TABLES HISTORY LIKE 'load%' IN mytestdb;",
)


def history(spark):
    """What SHOW TABLES HISTORY shows: name, rows, retention and whether it was dropped."""
    return [
        [row["name"], row["rows"], row["retention_time"], row["dropped_on"] is not None]
        for row in spark.sql("SHOW TABLES HISTORY;").collect()
    ]


def rows(spark, text):
    """What a statement gives."""
    return [[str(value) for value in row] for row in spark.sql(text).collect()]


def main():
    """The examples, one after the other."""
    spark = audit.session(root=sys.argv[1])
    try:
        shown = []
        for part in STORY:
            for text in part:
                spark.sql(text)
            shown.append(history(spark))
        given = {text: rows(spark, text) for text in OTHERS}
    finally:
        spark.stop()
    print(json.dumps({"shown": shown, "given": given}), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
