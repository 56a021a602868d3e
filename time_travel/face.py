"""Reading the past from Python.

In: an audited session, a name, points in time. Out: DataFrames that Spark evaluates when they are used. Each
function is a statement of SQL, so what it reads is ruled and recorded as a statement of SQL is.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from lineage.names import quote_name, split_name, sql_name
from time_travel.attached import travel_of
from time_travel.comparing import changes
from time_travel.errors import BadMomentError, UnknownColumnError
from time_travel.points import Before, Moment, Point, clause_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOW = timedelta()


def read(
    spark: SparkSession, name: str, *, at: Point | None = None, before: Moment | None = None
) -> DataFrame:
    """A table or view as it was at, or just before, a point, in today's columns.

    As `SELECT * FROM name AT | BEFORE (…)` on the same session: views are opened, retention is respected, the
    actions of the DataFrame are on record. Spark's own VERSION AS OF gives the columns of then.

    Args:
        spark: an audited session.
        name: a table or view, `schema.name` or `catalog.schema.name` as well; in back-ticks what holds a dot.
        at: a point in time, one of

            - a `datetime`; without a zone it is in the one of this process, as those are that Spark gives
            - a text: a time (ISO 8601, or that of an e-mail), in the session's zone where it names none; or
              the query id of a statement on record, whose changes are included
            - a `date`, its first instant in the session's zone
            - a negative `timedelta` or number: that long ago, in seconds
            - an `int` from 0 on: a version of the table, as Delta counts them
        before: a point as `at`: the state just before it, without the changes of that time, statement or
            version.

    Raises:
        NotAttachedError: the session is not audited.
        BadMomentError: neither or both of `at` and `before`, or no point in time.
        TimeTravelError: one of the others, as SQL raises them: a point that cannot be had.
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
    """What changed in a table between two points: a row for each row added, removed or changed.

    Rows are compared as a bag: of a row that was there twice and is there once, one is removed. NULL equals
    NULL; MAPs are equal with the same entries, VARIANTs with the same JSON. Both points are read in today's
    columns: one that was added since is NULL before, one that was dropped since does not count.

    With `keys`, a row that was removed and one that was added with the same keys are one that changed: two
    rows, `changed_from` as it was at `a` and `changed_to` as it was at `b`. A key may be NULL. Where keys are
    not unique, all differing rows of that key are given so, since none says which became which.

    `diff(spark, "t", before(query_id), query_id)` is what a statement has changed.

    Args:
        spark: an audited session.
        name: as in `read`.
        a: the earlier point, as `at` of `read`, or `before(…)` one.
        b: the later one; now by default.
        keys: names of the columns that make a row the same row.

    Returns:
        The column `change` (`added`, `removed`, `changed_from`, `changed_to`), then the table's. Where the
        table has a column of that name, it is `_change`. Lazy: both points are fixed now, Spark compares when
        the DataFrame is used, and reads both in full.

    Raises:
        UnknownColumnError: a key that is no column.
        TimeTravelError: as `read`.
        BadNameError: as `read`.
    """
    earlier, later = _read(spark, name, a), _read(spark, name, _NOW if b is None else b)
    wanted = [keys] if isinstance(keys, str) else list(keys or ())
    known = {column.lower(): column for column in later.columns}
    for key in wanted:
        if key.lower() not in known:
            raise UnknownColumnError(
                f"{quote_name(split_name(name))} has no column {key!r} that could be a key",
                f"it has {', '.join(later.columns)}",
            )
    return changes(earlier, later, [known[key.lower()] for key in wanted])


def replay(spark: SparkSession, query_id: str) -> DataFrame:
    """The query of a statement on record, on the very versions that it read.

    Names mean what they meant in the schema that was current then. A table without a clause is read at the
    version on record, with the columns of then; one with AT | BEFORE at the version that was read there. Of
    `INSERT … SELECT` and `CREATE TABLE … AS SELECT` it is the query. Of an action (`count`, `show`) on
    `spark.sql(…)` it is the DataFrame below it.

    What is not on record is as it is today: settings of the session, functions, `current_timestamp()` and
    `rand()` outside clauses, and the text of views. Where a view has been redefined so that it reads another
    table, that is noticed and refused; where it reads the same tables otherwise, the answer is that of its
    present text.

    Args:
        spark: an audited session.
        query_id: of query_history.

    Raises:
        NotAttachedError: the session is not audited.
        UnknownStatementError: no statement on record has this id.
        NotAQueryError: it is not SQL, changes without a query, or has failed.
        NotRepeatableError: what it read cannot be told: parameters, tables that are not Delta's, views that
            have been redefined since.
        VersionGoneError: a version that it read can be read no longer.
    """
    return spark.sql(travel_of(spark).replayed(spark, query_id))


def _read(spark: SparkSession, name: str, point: Point) -> DataFrame:
    travel_of(spark)
    return spark.sql(f"SELECT * FROM {sql_name(split_name(name))} {clause_of(point)}")  # noqa: S608  quoted
