"""The validation of a table: what `audit.expect` returns, and the rows that it leaves on record.

In: a table at a version, outcomes. Out: a `Validation`, and rows of data_quality_results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit.checks.outcome import Json, Outcome


@dataclass(frozen=True, slots=True)
class ValidatedObject:
    """What was validated.

    Attributes:
        name: `catalog.schema.object`.
        object_id: as in access_history; None for one without an id.
        domain: `Table`, `VIEW`, …
        version: of Delta; None for a view, and for tables of other formats.
        query_id: the statement that wrote the version; None where its commit names none.
    """

    name: str
    object_id: int | None
    domain: str
    version: int | None = None
    query_id: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of a validation.

    Attributes:
        run_id: of its rows in data_quality_results.
        run_time: when it began (UTC).
        user_name: who validated: the policies that hold for him were in force.
        validated: the table.
        suite_name: of the suite.
        outcomes: one for each expectation, in the order of the suite.
    """

    run_id: str
    run_time: datetime
    user_name: str
    validated: ValidatedObject
    suite_name: str
    outcomes: tuple[Outcome, ...]

    @property
    def success(self) -> bool:
        """Whether each expectation holds."""
        return not self.failed

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The expectations that do not hold, or could not be asked."""
        return tuple(one for one in self.outcomes if not one.passed)

    def __bool__(self) -> bool:
        return self.success

    def __str__(self) -> str:
        version = "" if self.validated.version is None else f" at version {self.validated.version}"
        head = f"{self.validated.name}{version}: {len(self.outcomes) - len(self.failed)} of"
        lines = [f"{head} {len(self.outcomes)} expectations hold"]
        return "\n".join([*lines, *(f"  {one.verdict.lower()}: {one.name}" for one in self.failed)])

    def rows(self, redact: Callable[[str], str]) -> list[Json]:
        """Rows of data_quality_results.

        What Great Expectations says of values is left out: who may read the results need not be one who may
        read the table.

        Args:
            redact: takes secrets out of a text.
        """
        head = {
            "query_id": self.validated.query_id,
            "run_time": self.run_time,
            "user_name": self.user_name,
            "run_id": self.run_id,
            "object_id": self.validated.object_id,
            "object_name": self.validated.name,
            "object_domain": self.validated.domain,
            "object_version": self.validated.version,
            "suite_name": self.suite_name,
        }
        return [{**head, **_row(one, redact)} for one in self.outcomes]


# Of this one what it observes is how many rows it has found, and no value.
_COUNTED = {"unexpected_rows_expectation": "observed_value"}


def _row(one: Outcome, redact: Callable[[str], str]) -> Json:
    import orjson

    arguments = orjson.dumps(one.arguments, option=orjson.OPT_SORT_KEYS, default=str).decode()
    return {
        "expectation_name": one.name,
        "expectation_type": one.expectation_type,
        "column_name": one.column,
        "description": redact(one.description) or None,
        "arguments": redact(arguments),
        "severity": one.severity,
        "outcome": one.verdict,
        "element_count": _count(one.result.get("element_count")),
        "unexpected_count": _count(one.result.get(_COUNTED.get(one.expectation_type, "unexpected_count"))),
        "unexpected_percent": _percent(one.result.get("unexpected_percent")),
        "error_message": None if one.error is None else redact(one.error),
    }


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _percent(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
