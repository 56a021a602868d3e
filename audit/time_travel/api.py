"""Reading the past from Python.

In: an audited session, a name, points in time. Out: DataFrames that Spark evaluates when they are used. Each
function runs a statement of SQL, so policies apply to it and it is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from audit.time_travel.attached import time_travel_of
from audit.time_travel.errors import BadMomentError, UnknownColumnError
from audit.time_travel.versions.diff import changes
from audit.time_travel.versions.point_arguments import Before, Moment, Point, clause_of
from lineage.names import quote_name, split_name, sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from audit.time_travel.service import TimeTravel

# As a clause: AT (OFFSET => 0).
_NOW = timedelta()


def read(
    spark: SparkSession, name: str, *, at: Point | None = None, before: Moment | None = None
) -> DataFrame:
    """A table or view as it was at, or just before, a point, in today's columns.

    It is `SELECT * FROM name AT | BEFORE (…)` on the same session: views are expanded, retention is
    respected, the actions of the DataFrame are recorded. Spark's own VERSION AS OF returns the columns of
    that version.

    Args:
        spark: an audited session.
        name: a table or view, `schema.name` or `catalog.schema.name` as well; in back-ticks what holds a dot.
        at: a point in time, one of

            - a `datetime`; without a zone it is in the zone of this process, as those that Spark returns
            - a text: a time (ISO 8601 or RFC 2822), in the session's zone if it names none; or the query id
              of a recorded statement, whose changes are included
            - a `date`, its first instant in the session's zone
            - a negative `timedelta` or number: that long ago, in seconds
            - an `int` from 0 on: a version of the Delta table
        before: a point as `at`: the state just before it, without the changes of that time, statement or
            version.

    Raises:
        NotAttachedError: the session is not audited.
        BadMomentError: neither or both of `at` and `before`, or no point in time.
        TimeTravelError: the same errors as in SQL, if there is no such version.
        BadNameError: `name` is no name.
    """
    given: list[Point | None] = [at, None if before is None else Before(before)]
    points = [point for point in given if point is not None]
    if len(points) != 1:
        raise BadMomentError(
            f"{len(points)} points in time are given for {name}", "give one: at=…, or before=… it"
        )
    return _read(spark, name, points[0])


def diff(
    spark: SparkSession,
    name: str,
    a: Point,
    b: Point | None = None,
    *,
    keys: str | Sequence[str] | None = None,
) -> DataFrame:
    """The changes of a table between two points: one row for each row added, removed or changed.

    Rows are compared as a multiset: if a row occurred twice and occurs once now, one is removed. NULL equals
    NULL; MAPs are equal with the same entries, VARIANTs with the same JSON. Both points are read in today's
    columns: a column that was added later is NULL, one that was dropped later is ignored.

    With `keys`, a removed and an added row with the same keys are one changed row, returned as two rows:
    `changed_from` as it was at `a`, `changed_to` as it was at `b`. A key may be NULL. If keys are not unique,
    all differing rows of that key are returned so.

    `diff(spark, "t", before(query_id), query_id)` returns what a statement changed.

    Args:
        spark: an audited session.
        name: as in `read`.
        a: the earlier point, as `at` of `read`, or `before(…)` one.
        b: the later one; now by default.
        keys: names of the columns that identify a row.

    Returns:
        The column `change` (`added`, `removed`, `changed_from`, `changed_to`), then the table's columns. It
        is called `_change` if the table has a column `change`. Both points are fixed now; Spark reads and
        compares both versions in full when the DataFrame is used.

    Raises:
        UnknownColumnError: a key is not a column.
        TimeTravelError: as `read`.
        BadNameError: as `read`.
    """
    earlier, later = _read(spark, name, a), _read(spark, name, _NOW if b is None else b)
    wanted = [keys] if isinstance(keys, str) else list(keys or ())
    # Spark's column names are case-insensitive by default.
    known = {column.lower(): column for column in later.columns}
    for key in wanted:
        if key.lower() not in known:
            raise UnknownColumnError(
                f"{quote_name(split_name(name))} has no column {key!r} that could be a key",
                f"it has {', '.join(later.columns)}",
            )
    return changes(earlier, later, [known[key.lower()] for key in wanted])


def replay(spark: SparkSession, query_id: str) -> DataFrame:
    """Run the query of a recorded statement again, on the versions that it read.

    Names are resolved in the schema that was current then. A table without a clause is read at the recorded
    version, with the columns of that version; one with AT | BEFORE at the version that the statement read.
    For `INSERT … SELECT` and `CREATE TABLE … AS SELECT` the query runs; for an action (`count`, `show`) on
    `spark.sql(…)` the DataFrame below it.

    The record does not hold settings of the session, functions, the values of `current_timestamp()` and
    `rand()` outside clauses, and the text of views: today's are used. A view that reads other tables today is
    refused; a view that was changed otherwise is read by its present text.

    Args:
        spark: an audited session.
        query_id: of query_history.

    Raises:
        NotAttachedError: the session is not audited.
        UnknownStatementError: no statement on record has this id.
        NotAQueryError: it is not SQL, changes without a query, or has failed.
        NotRepeatableError: the record does not tell what it read: parameters, tables that are not Delta's,
            views that were redefined.
        VersionGoneError: a version that it read is no longer available.
    """
    travel: TimeTravel = time_travel_of(spark)
    return spark.sql(travel.replay_query(spark, query_id))


def _read(spark: SparkSession, name: str, point: Point) -> DataFrame:
    # Raises for a session without audit, to which the clause would be a syntax error of Spark's.
    time_travel_of(spark)
    return spark.sql(f"SELECT * FROM {sql_name(split_name(name))} {clause_of(point)}")  # noqa: S608  quoted
