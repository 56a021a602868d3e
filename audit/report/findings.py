"""What the cover says about how far a report can be relied on.

In: a report. Out: sentences, each with the figure that it is taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from audit.report.answers import Filled, Report
from audit.report.kinds.records import COVERAGE, DELETED, GAPS, INTEGRITY, ON_RECORD
from audit.report.plain import cell


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence. `good`: it holds; `open`: look at something; `bad`: something is missing or wrong."""

    state: Literal["good", "open", "bad"]
    text: str
    figure: Filled


def findings(report: Report) -> tuple[Finding, ...]:
    """All of them, those about missing records first."""
    return (*_missing(report), *_analysed(report), *_verified(report), *_deleted(report))


def _missing(report: Report) -> Iterator[Finding]:
    on_record, integrity = report.figure(ON_RECORD.name), report.figure(INTEGRITY.name)
    if not on_record.value("statements"):
        yield Finding("open", "No statement is on record in this period.", on_record)
    if gaps := integrity.value("gaps"):
        yield Finding(
            "bad",
            f"{_many(gaps, 'gap')}: statements may have run without a record.",
            report.figure(GAPS.name),
        )
    else:
        yield Finding("good", "No gap is on record: nothing is known to be missing.", integrity)
    if pauses := integrity.value("pauses"):
        yield Finding("open", f"Recording was paused {_many(pauses, 'time')}.", integrity)
    if incomplete := on_record.value("incomplete"):
        yield Finding("open", f"{_many(incomplete, 'statement')} without an end: the driver died.", on_record)


def _analysed(report: Report) -> Iterator[Finding]:
    coverage = report.figure(COVERAGE.name)
    succeeded, full = coverage.value("succeeded"), coverage.value("full_percent")
    if not succeeded:
        return
    rest = coverage.value("partial") + coverage.value("opaque")
    text = f"{cell(full)} % of the statements that succeeded were analysed in full"
    if rest:
        yield Finding("open", f"{text}; {_many(rest, 'statement')} must be looked at by hand.", coverage)
    else:
        yield Finding("good" if not coverage.value("without_record") else "open", f"{text}.", coverage)
    if alone := coverage.value("without_record"):
        text = "without a row in access_history, though it succeeded"
        yield Finding("bad", f"{_many(alone, 'statement')} {text}: run `audit verify`.", coverage)


def _verified(report: Report) -> Iterator[Finding]:
    integrity = report.figure(INTEGRITY.name)
    times, last = integrity.value("verifications"), integrity.value("last_verified")
    if not times:
        yield Finding(
            "open", "No verification is on record since the period began: run `audit verify`.", integrity
        )
        return
    text = f"Records were verified {_many(times, 'time')} since the period began, last on {cell(last)} UTC"
    if faults := integrity.value("faults_of_the_last"):
        yield Finding("bad", f"{text}, with {_many(faults, 'fault')}.", integrity)
    elif not integrity.value("of_whole_period"):
        yield Finding("open", f"{text}, without a fault; none of them covered all of the period.", integrity)
    else:
        yield Finding("good", f"{text}, without a fault.", integrity)


def _deleted(report: Report) -> Iterator[Finding]:
    deleted = report.figure(DELETED.name)
    if days := deleted.value("days_of_period"):
        yield Finding("bad", f"Retention has deleted {_many(days, 'day')} of this period, by table.", deleted)
    elif deleted.value("deletions"):
        text = f"Retention has deleted {_many(deleted.value('rows_deleted'), 'row')}, none of this period."
        yield Finding("good", text, deleted)
    else:
        yield Finding("good", "Retention has deleted nothing since the period began.", deleted)


def _many(number: int, of: str) -> str:
    """A number with its noun.

    >>> _many(1, "gap"), _many(1200, "gap")
    ('1 gap', '1,200 gaps')
    """
    return f"1 {of}" if number == 1 else f"{number:,} {of}s"
