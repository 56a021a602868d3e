"""The numbers on the cover.

In: a report. Out: tiles, each a number with its label and the figure that it is taken from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.report.kinds.records import COVERAGE, DELETED, INTEGRITY, ON_RECORD
from audit.report.plain import NOTHING, cell

if TYPE_CHECKING:
    from audit.report.answers import Filled, Report


@dataclass(frozen=True, slots=True)
class Tile:
    """A number: its label, the number, what it is made of, and its figure."""

    label: str
    number: str
    note: str
    figure: Filled


def tiles(report: Report) -> tuple[Tile, ...]:
    """All of them."""
    on_record, coverage = report.figure(ON_RECORD.name), report.figure(COVERAGE.name)
    integrity, deleted = report.figure(INTEGRITY.name), report.figure(DELETED.name)
    full = coverage.value("full_percent")
    return (
        Tile(
            "Statements on record",
            _of(on_record, "statements"),
            f"of {_of(on_record, 'users')} user{'' if on_record.value('users') == 1 else 's'}",
            on_record,
        ),
        Tile(
            "Analysed in full",
            NOTHING if full is None else f"{cell(full)} %",
            f"{_of(coverage, 'full_from_text')} from text, {_of(coverage, 'full_from_plan')} from plans",
            coverage,
        ),
        Tile(
            "Partial / opaque",
            f"{_of(coverage, 'partial')} / {_of(coverage, 'opaque')}",
            "to be looked at by hand",
            coverage,
        ),
        Tile(
            "Failed / denied",
            f"{_of(on_record, 'failed')} / {_of(on_record, 'denied')}",
            "statements that gave no result",
            on_record,
        ),
        Tile("Gaps", _of(integrity, "gaps"), "times with lost records", integrity),
        Tile(
            "Incomplete",
            _of(on_record, "incomplete"),
            f"the driver died; {_of(on_record, 'running')} still run",
            on_record,
        ),
        Tile("Verified", f"{_of(integrity, 'verifications')}×", _verified(integrity), integrity),  # noqa: RUF001 - times
        Tile(
            "Deleted by retention",
            _of(deleted, "rows_deleted"),
            f"rows; {_of(deleted, 'days_of_period')} days of this period",
            deleted,
        ),
    )


def _of(figure: Filled, column: str) -> str:
    value: Any = figure.value(column)
    return cell(value or 0)


def _verified(integrity: Filled) -> str:
    if not integrity.value("verifications"):
        return "not since the period began"
    return f"{_of(integrity, 'faults_of_the_last')} faults the last time"
