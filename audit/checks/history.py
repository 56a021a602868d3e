"""Checks the audit tables: the suite, and its run over the days that are asked for.

In: a session, a root, a period, a suite. Out: a `CheckResult`. Spark reads the tables, without a record;
Great Expectations sees the counts of `audit.checks.days`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from audit.checks.engine import great_expectations, new_suite, require_suite, run_suite
from audit.checks.errors import PeriodInvalid
from audit.checks.expectations import MIN_COVERAGE, checks, columns
from audit.checks.result import CheckResult
from audit.core.clock import SystemClock, to_datetime
from audit.core.config import load
from audit.spark.sessions import own_session, require_session
from audit.spark.unrecorded import unrecorded

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

    from audit.checks.days import Row
    from audit.core.clock import Clock

NAME = "audit_tables"
"""The suite's, and the frame's."""


def suite(min_coverage: float = MIN_COVERAGE) -> Any:
    """The expectations of `audit check`, as a suite that you may extend.

    Each expectation has its name in `meta["name"]`, and a description. They are asked of a frame with a row
    for each day; `audit.checks.COLUMNS` lists its columns, of which yours may use all.

    Args:
        min_coverage: the percentage of records that are to be full, 0 to 100.

    Returns:
        A `great_expectations.ExpectationSuite`.

    Raises:
        GreatExpectationsMissing: Great Expectations is not installed.
        SuiteInvalid: the percentage is none.
    """
    wanted = checks(min_coverage)
    gx = great_expectations()
    return new_suite(
        NAME,
        (
            gx.expectations.UnexpectedRowsExpectation(
                unexpected_rows_query=one.query, description=one.description, meta={"name": one.name}
            )
            for one in wanted
        ),
    )


def check_history(
    spark: SparkSession,
    root: str | None = None,
    first: date | None = None,
    last: date | None = None,
    *,
    min_coverage: float = MIN_COVERAGE,
    suite: Any | None = None,
    clock: Clock | None = None,
) -> CheckResult:
    """Check the audit tables under a root. Nothing of it is recorded.

    Records that wait in a spool are not looked at: call `audit.flush(spark)` before.

    Args:
        spark: a session with Delta.
        root: folder of the audit tables; that of the configuration by default.
        first: the first day (UTC); None: from the beginning.
        last: the last day (UTC); None: to the end.
        min_coverage: the percentage of records that are to be full, where no suite is given.
        suite: other expectations; those of `suite()` by default.
        clock: tells the time in UTC microseconds; the machine's by default.

    Raises:
        AttachError: it is no session, or has been stopped.
        GreatExpectationsMissing: Great Expectations is not installed.
        PeriodInvalid: the last day is before the first.
        SuiteInvalid: the suite is none, or the percentage.
        TableAlteredError: a table is not as this version made it.
        TableMissingError: a table is gone.
    """
    # It imports PySpark, which the command line reads results of validations without.
    from audit.checks.days import Period, days, totals

    wanted = require_suite(_suite(min_coverage) if suite is None else suite)
    require_period(first, last)
    config = load({"root": root})
    now = (clock or SystemClock()).now()
    with unrecorded():
        own = own_session(require_session(spark))
        rows = days(own, config.root, Period(first, last), config.days_of, now)
        outcomes = run_suite(wanted, _frame(own, rows), NAME, in_full=True)
    found = [row["query_date"] for row in rows]
    return CheckResult(
        config.root,
        to_datetime(now),
        first or min(found, default=None),
        last or max(found, default=None),
        totals(rows),
        wanted.name,
        outcomes,
    )


_suite = suite  # `check_history` has an argument of that name


def require_period(first: date | None, last: date | None) -> None:
    """Look whether a period has a day.

    Raises:
        PeriodInvalid: the last day is before the first.
    """
    if first is not None and last is not None and last < first:
        raise PeriodInvalid(f"the period ends on {last}, before it begins on {first}", "swap the two days")


def _frame(spark: SparkSession, rows: list[Row]) -> DataFrame:
    import pyarrow as pa

    kinds = {"DATE": pa.date32(), "BIGINT": pa.int64(), "ARRAY<STRING>": pa.list_(pa.string())}
    schema = pa.schema([(name, kinds[kind]) for name, kind in columns()])
    # Of an Arrow table Spark (4.2) makes a relation in memory, and asks it without a job for each row.
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
