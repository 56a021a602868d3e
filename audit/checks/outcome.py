"""What became of one expectation.

In: a result of Great Expectations. Out: an `Outcome` of plain values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from audit.checks.expectations import EXAMPLES

Json = dict[str, Any]
Verdict = Literal["PASSED", "FAILED", "ERROR"]
_LONGEST_ERROR = 2_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """An expectation, and what was found.

    Attributes:
        name: of the expectation; what its suite calls it, else its type with its column.
        verdict: PASSED, FAILED, or ERROR where it could not be asked.
        description: what is expected, as a sentence; "" where nobody has said it.
        expectation_type: of Great Expectations: expect_column_values_to_not_be_null and so on.
        arguments: what it was given.
        column: that it is about; None for several, or the whole table.
        severity: critical, warning or info.
        result: what Great Expectations says.
        error: why it could not be asked; None where it was.
    """

    name: str
    verdict: Verdict
    description: str
    expectation_type: str
    arguments: Json
    column: str | None
    severity: str
    result: Json
    error: str | None = None

    @property
    def passed(self) -> bool:
        """Whether it holds."""
        return self.verdict == "PASSED"

    @property
    def findings(self) -> tuple[Json, ...]:
        """The rows that an expectation in SQL has found."""
        rows = (self.result.get("details") or {}).get("unexpected_rows")
        return tuple(rows or ())

    @property
    def offenders(self) -> int:
        """How many offend: as its rows count them, else as Great Expectations does."""
        if self.findings:
            return sum(int(row.get("offenders") or 1) for row in self.findings)
        return int(self.result.get("unexpected_count") or 0)

    @property
    def query_ids(self) -> tuple[str, ...]:
        """The query ids of some offenders."""
        found = (query_id for row in self.findings for query_id in row.get("query_ids") or ())
        return tuple(dict.fromkeys(found))[:EXAMPLES]

    def to_dict(self) -> Json:
        """Plain values; each outcome has the same keys."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "success": self.passed,
            "description": self.description,
            "expectation_type": self.expectation_type,
            "kwargs": self.arguments,
            "severity": self.severity,
            "offenders": self.offenders,
            "query_ids": list(self.query_ids),
            "result": self.result,
            "error": self.error,
        }


def outcome_of(result: Any, number: int) -> Outcome:
    """The outcome of a result of Great Expectations.

    Args:
        result: an ExpectationValidationResult.
        number: of the expectation in its suite, from 0; for the name of one that has none.
    """
    plain: Json = result.to_json_dict()
    config: Json = plain["expectation_config"]
    # Great Expectations (1.24) adds the id of what it calls a batch, which means nothing to anybody.
    arguments = {key: value for key, value in config["kwargs"].items() if key != "batch_id"}
    column = arguments.get("column")
    name = (config.get("meta") or {}).get("name") or " ".join(filter(None, (config["type"], column)))
    error = "; ".join(dict.fromkeys(_errors(plain.get("exception_info") or {}))) or None
    return Outcome(
        str(name) or f"expectation {number + 1}",
        "ERROR" if error else "PASSED" if plain["success"] else "FAILED",
        config.get("description") or "",
        config["type"],
        arguments,
        column if isinstance(column, str) else None,
        str(config.get("severity") or "critical"),
        dict(plain.get("result") or {}),
        None if error is None else error[:_LONGEST_ERROR],
    )


def _errors(info: Mapping[str, Any]) -> Iterator[str]:
    """The messages of an expectation's errors: of one, or of several metrics that it needs."""
    if info.get("raised_exception"):
        yield _first_lines(str(info.get("exception_message")))
    for value in info.values():
        if isinstance(value, Mapping):
            yield from _errors(value)


def _first_lines(text: str) -> str:
    # A message of Spark's ends with the plan, and a stack trace of Java's.
    return " ".join(text.partition("\n\nJVM stacktrace")[0].split())
