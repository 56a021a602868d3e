"""What is expected of the audit tables, in one list.

In: a bound for the coverage. Out: `Check`s, each a query over the frame of `audit.checks.days`, which has a
row for each day. What a query returns is a finding: its day, how many statements or records it is about, and
the query ids of some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from audit.checks.errors import SuiteInvalid

MIN_COVERAGE = 95.0
"""The percentage of records that are to be full, where nobody names another one."""
EXAMPLES = 20
"""The most query ids that a finding names."""
_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class Check:
    """An expectation.

    Attributes:
        name: of the expectation.
        description: what is expected, as a sentence.
        query: Spark's SQL over `{batch}`; no row is good.
    """

    name: str
    description: str
    query: str


@dataclass(frozen=True, slots=True)
class _Count:
    """An expectation that a count of the frame is 0 on each day."""

    name: str
    column: str
    description: str


_KNOWN = (
    ("execution_status", "SUCCESS, FAIL, DENIED, RUNNING or INCOMPLETE"),
    ("analysis", "full, partial or opaque"),
    ("captured_by", "text, plan or listener"),
    ("operation_type", "ALTER, CREATE, DROP, REPLACE or UNDROP"),
    ("object_domain", "one that lineage knows: Table, VIEW, STAGE and so on"),
)
_COUNTS = (
    _Count("query_ids_are_unique", "doubled_statements", "Each query id stands once in query_history."),
    _Count("records_are_unique", "doubled_records", "No record stands twice in access_history."),
    _Count(
        "times_are_ordered",
        "unordered_times",
        "No statement ends before it starts, and its record has the same start.",
    ),
    _Count("times_are_past", "future_times", "No statement starts or ends in the future."),
    _Count(
        "records_have_statements",
        "records_without_statement",
        "Each record in access_history belongs to a statement in query_history that succeeded.",
    ),
    _Count(
        "successes_have_records",
        "successes_without_record",
        "Each statement in query_history that succeeded has its record in access_history.",
    ),
    *(_Count(f"{name}_is_known", f"unknown_{name}", f"Each {name} is {values}.") for name, values in _KNOWN),
    _Count(
        "column_ids_have_one_name",
        "ambiguous_columns",
        "On one day a column id of an object stands for one name, unless DDL changed the object.",
    ),
    _Count("record_hashes_match", "altered_records", "Each record has the hash that it was written with."),
    _Count(
        "edges_have_both_ends",
        "loose_edges",
        "The record of each edge in column_lineage writes its target and reads its source.",
    ),
)
COUNTS: tuple[str, ...] = tuple(one.column for one in _COUNTS)
"""The columns of the frame that count offenders; beside each is `<column>_ids` with some query ids."""
_DAYS = (
    Check(
        "no_day_is_missing",
        "Between the first and the last day each day has rows in query_history.",
        "SELECT query_date FROM {batch} WHERE statements = 0 ORDER BY query_date",
    ),
    Check(
        "retention_is_kept",
        "No table has a day that is older than the configuration keeps.",
        "SELECT query_date, overdue_tables FROM {batch} WHERE size(overdue_tables) > 0 ORDER BY query_date",
    ),
)


def checks(min_coverage: float = MIN_COVERAGE) -> tuple[Check, ...]:
    """All expectations, in the order in which they are shown.

    >>> [one.name for one in checks()][:2]
    ['query_ids_are_unique', 'records_are_unique']

    Args:
        min_coverage: the percentage of records that are to be full, 0 to 100.

    Raises:
        SuiteInvalid: it is no percentage.
    """
    if not _is_percentage(min_coverage):
        raise SuiteInvalid(f"the least coverage is {min_coverage!r}", "give a percentage, 0 to 100")
    return (*map(_of_count, _COUNTS), *_DAYS, _coverage(min_coverage))


def _is_percentage(value: object) -> bool:
    # In Python True is a number.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0.0 <= value <= _PERCENT


def ids_column(count: str) -> str:
    """The column with query ids beside a column that counts.

    >>> ids_column("doubled_records")
    'doubled_records_ids'
    """
    return f"{count}_ids"


def columns() -> Iterator[tuple[str, str]]:
    """The columns of the frame, with their SQL types."""
    yield ("query_date", "DATE")
    yield from ((name, "BIGINT") for name in TOTALS)
    yield ("partial_records_ids", "ARRAY<STRING>")
    for count in COUNTS:
        yield (count, "BIGINT")
        yield (ids_column(count), "ARRAY<STRING>")
    yield ("overdue_tables", "ARRAY<STRING>")


TOTALS: Sequence[str] = (
    "statements", "successes", "failures", "denials", "records", "full_records", "partial_records", "edges",
)  # fmt: skip
"""Columns of the frame that count what is there: for suites of your own."""


def _of_count(one: _Count) -> Check:
    query = (
        f"SELECT query_date, {one.column} AS offenders, {ids_column(one.column)} AS query_ids"  # noqa: S608 - our own names
        f" FROM {{batch}} WHERE {one.column} > 0 ORDER BY query_date"
    )
    return Check(one.name, one.description, query)


def _coverage(bound: float) -> Check:
    # Of the whole period: a day of three statements would fall below any bound by one of them.
    share = "round(100 * sum(full_records) / sum(records), 2)"
    query = (
        f"SELECT {share} AS full_percent, sum(partial_records) AS offenders,"  # noqa: S608 - a number
        f" slice(flatten(collect_list(partial_records_ids)), 1, {EXAMPLES}) AS query_ids"
        f" FROM {{batch}} HAVING {share} < {bound}"
    )
    return Check(
        "coverage_is_high",
        f"At least {bound:g} % of the records were analysed in full, from text or from Spark's plan.",
        query,
    )
