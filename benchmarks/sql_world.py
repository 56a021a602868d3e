"""What Spark's suite lays ready for its SQL files, and the room that each file runs in.

In: a session and the data of the tests' jar. Out: the tables of the suite (SQLQueryTestSuite,
`createTestTables`, Spark 4.2) in the schema `default`; after each file everything else is gone again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd  # noqa: TC002  pandas_udf reads the hints
from pyspark.sql.functions import pandas_udf, udtf  # type: ignore[attr-defined]  # its types (4.2) lack it

from audit.spark import scala_values
from benchmarks.corpus import Corpus
from benchmarks.sql_files import SqlFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    # One file makes and drops many small things; a Hive metastore would be most of the time.
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.session.timeZone": "America/Los_Angeles",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # Each statement runs once: to compile it would be most of its time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.databricks.delta.snapshotPartitions": "1",
}
"""Of the Spark that the files run in. The time zone is the suite's."""

_NUMBERS = (
    "unique1", "unique2", "two", "four", "ten", "twenty", "hundred", "thousand", "twothousand", "fivethous",
    "tenthous", "odd", "even",
)  # fmt: skip
_ONEK = ", ".join(
    [f"{n} INT" for n in _NUMBERS] + [f"{s} STRING" for s in ("stringu1", "stringu2", "string4")]
)
_VALUES = {
    "testdata": "SELECT CAST(id AS INT) AS key, CAST(id AS STRING) AS value FROM range(1, 101)",
    "arraydata": (
        "SELECT * FROM VALUES (array(1, 2, 3), array(array(1, 2, 3))),"
        " (array(2, 3, 4), array(array(2, 3, 4))) AS t(arraycol, nestedarraycol)"
    ),
    "mapdata": (
        "SELECT * FROM VALUES (map(1, 'a1', 2, 'b1', 3, 'c1', 4, 'd1', 5, 'e1')),"
        " (map(1, 'a2', 2, 'b2', 3, 'c2', 4, 'd2')), (map(1, 'a3', 2, 'b3', 3, 'c3')),"
        " (map(1, 'a4', 2, 'b4')), (map(1, 'a5')) AS t(mapcol)"
    ),
}
_FILES = {"aggtest": ("agg", "a INT, b FLOAT"), "onek": ("onek", _ONEK), "tenk1": ("tenk", _ONEK)}
_TABLES = frozenset({*_VALUES, *_FILES})
# Scala functions of the suite, as SQL: what they are written in says nothing about a query that calls them.
_POSTGRES = (
    "CREATE TEMPORARY FUNCTION boolne(a BOOLEAN, b BOOLEAN) RETURNS BOOLEAN RETURN a <> b",
    "CREATE TEMPORARY FUNCTION booleq(a BOOLEAN, b BOOLEAN) RETURNS BOOLEAN RETURN a = b",
    "CREATE TEMPORARY FUNCTION vol(s STRING) RETURNS STRING RETURN s",
)


def furnish(spark: SparkSession, corpus: Corpus, folder: Path) -> None:
    """Make the suite's tables; `folder` holds the data that they are read from."""
    for name, query in _VALUES.items():
        spark.sql(f"CREATE TABLE {name} USING parquet AS {query}")
    for name, (data, columns) in _FILES.items():
        path = folder / f"{data}.data"
        path.write_text(corpus.data(f"test-data/postgresql/{data}.data"), encoding="utf-8")
        rows = spark.read.csv(str(path), schema=columns, sep="\t")
        rows.write.format("parquet").saveAsTable(name)


def prepare(session: SparkSession, file: SqlFile, table_functions: Mapping[str, str]) -> None:
    """The settings of a file, and the functions that its folder's suite registers; `session` is new.

    Args:
        session: new.
        file: it is run next.
        table_functions: Python sources by name.
    """
    if file.name.startswith("udf/"):
        # Spark's suite runs these with a Scala and with a Python function that give their argument as text.
        session.udf.register("udf", lambda value: None if value is None else str(value), "string")
    elif file.name.startswith("udaf/"):
        session.udf.register("udaf", pandas_udf(_count, "int"))
    elif file.name.startswith("udtf/"):
        for name, source in table_functions.items():
            # By that name a class is sent to the workers as a whole: they could not import it.
            namespace: dict[str, Any] = {"__name__": "__main__"}
            exec(source, namespace)  # noqa: S102  of the jar whose checksum `Corpus` knows
            given = None if hasattr(namespace[name], "analyze") else "x INT, y INT"
            made: Any = udtf(namespace[name], returnType=given)  # a decorator where no class is given
            session.udtf.register(name, made)
    if file.name.removeprefix("udf/").startswith("postgreSQL/"):
        for statement in _POSTGRES:
            session.sql(statement)
    for key, value in file.settings.items():
        session.conf.set(key, value)


def _count(values: pd.Series) -> int:
    """What the suite's aggregate gives."""
    return int(values.count())


def clear(spark: SparkSession) -> None:
    """Drop all that a file has left behind: schemas, tables, views, functions, cached data."""
    catalog = spark._jsparkSession.sessionState().catalog()
    external = catalog.externalCatalog()
    for schema in scala_values.sequence(external.listDatabases()):
        if schema != "default":
            external.dropDatabase(schema, True, True)  # noqa: FBT003  a Java method
    for name in scala_values.sequence(external.listTables("default")):
        if name not in _TABLES:
            spark.sql(f"DROP {_noun(external, name)} IF EXISTS default.`{name.replace('`', '``')}`")
    for name in scala_values.sequence(external.listFunctions("default", "*")):
        external.dropFunction("default", name)
    catalog.globalTempViewManager().clear()
    spark.catalog.clearCache()


def _noun(external: Any, name: str) -> str:
    return "VIEW" if external.getTable("default", name).tableType().name() == "VIEW" else "TABLE"
