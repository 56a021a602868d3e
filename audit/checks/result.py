"""The result of a check of the audit tables, in the forms that people and programs want.

In: outcomes. Out: plain values, JSON, a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from audit.checks.outcome import Json, Outcome

_PERCENT = 100.0


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check has found.

    Attributes:
        root: folder of the audit tables.
        run_time: when it began (UTC).
        first: the first day (UTC) that was looked at; None: there is no record.
        last: the last one.
        totals: what is in these days, and how much of it offends, by the columns of `audit.checks.COLUMNS`.
        suite_name: of the suite.
        outcomes: one for each expectation, in the order of the suite.
    """

    root: str
    run_time: datetime
    first: date | None
    last: date | None
    totals: Mapping[str, int]
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

    @property
    def summary(self) -> str:
        """The result in a line."""
        said = (
            f"All {len(self.outcomes)} expectations hold"
            if self.success
            else f"{len(self.failed)} of {len(self.outcomes)} expectations do not hold"
        )
        counted = f"{self.totals['statements']:,} statements, {self.totals['records']:,} records"
        return f"{said}: {counted}, {self.period}"

    @property
    def period(self) -> str:
        """The days that were looked at, as text."""
        if self.first is None or self.last is None:
            return "no days"
        return str(self.first) if self.first == self.last else f"{self.first} to {self.last}"

    def to_dict(self) -> Json:
        """Plain values, as Great Expectations tells a checkpoint's result; the keys are always the same."""
        held = len(self.outcomes) - len(self.failed)
        statistics = {
            "evaluated_expectations": len(self.outcomes),
            "successful_expectations": held,
            "unsuccessful_expectations": len(self.failed),
            "success_percent": _PERCENT * held / len(self.outcomes) if self.outcomes else _PERCENT,
        }
        return {
            "success": self.success,
            "root": self.root,
            "run_time": self.run_time.isoformat(),
            "first": None if self.first is None else self.first.isoformat(),
            "last": None if self.last is None else self.last.isoformat(),
            "totals": dict(self.totals),
            "statistics": {
                "evaluated_validations": 1,
                "successful_validations": int(self.success),
                "unsuccessful_validations": int(not self.success),
                "success_percent": _PERCENT if self.success else 0.0,
            },
            "validation_results": [
                {
                    "success": self.success,
                    "suite_name": self.suite_name,
                    "statistics": statistics,
                    "expectations": [one.to_dict() for one in self.outcomes],
                }
            ],
        }

    def to_json(self) -> str:
        """The same as JSON text."""
        import orjson

        return orjson.dumps(self.to_dict(), option=orjson.OPT_INDENT_2, default=str).decode() + "\n"
