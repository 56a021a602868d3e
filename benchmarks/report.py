"""RESULTS.md: the tables of all benchmarks, each with when, where and beside what load it was measured.

In: a measured result. Out: Markdown, in which it takes the place of the earlier section of its benchmark; all
other sections stay as they are, on whatever machine they were measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from benchmarks import machine
from benchmarks.result import DATA, Options, Result, Row

RESULTS = Path(__file__).parent / "RESULTS.md"
_VERDICTS = {True: "met", False: "**not met**", None: ""}
_HEAD = """# What the audit costs

Written by `make bench`. Figures as measured, whether the target is met or not. A ratio is the
first figure to the second.
"""
_QUICK = "\n**A quick run: sizes are tiny, and the figures mean nothing.**\n"
_MACHINE = re.compile(r"^Machine (\d+): (.*)\.$", re.MULTILINE)
_SECTION = re.compile(r"^<!-- (\w+) -->\n(.*?)\n*(?=^<!-- |\Z)", re.MULTILINE | re.DOTALL)


def path_of(*, quick: bool) -> Path:
    """Where the report goes; a quick run leaves RESULTS.md alone."""
    return DATA / "RESULTS-quick.md" if quick else RESULTS


@dataclass(frozen=True, slots=True)
class Around:
    """What else the machine did.

    Attributes:
        load: the load average before it began.
        pace: seconds of `machine.pace` before it began.
        stolen: the share of the cores' time that the host gave to others meanwhile.
    """

    load: str
    pace: float
    stolen: float


def keep(name: str, order: Sequence[str], options: Options, result: Result, around: Around) -> None:
    """Put a result into the report.

    Args:
        name: of the benchmark.
        order: of all of them.
        options: of the run.
        result: what was measured.
        around: what else the machine did.
    """
    path = path_of(quick=options.quick)
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    here = machine.describe()
    machines = dict.fromkeys([*(said for _, said in _MACHINE.findall(before)), here])
    number = list(machines).index(here) + 1
    sections = dict(_SECTION.findall(before))
    sections[name] = "\n".join(_section(result, number, around))
    lines = [_HEAD + (_QUICK if options.quick else "")]
    lines += [f"Machine {n}: {said}.\n" for n, said in enumerate(machines, 1)]
    lines += [f"<!-- {one} -->\n{sections[one]}\n" for one in order if one in sections]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines), encoding="utf-8")


def table(result: Result) -> Iterator[str]:
    """A result's table in Markdown."""
    columns = ("", *result.columns, "ratio", "target", "")
    cells = [_cells(row) for row in result.rows]
    used = [n for n in range(len(columns)) if any(row[n] for row in cells)]
    yield "| " + " | ".join(columns[n] for n in used) + " |"
    yield "|" + "|".join("---" if n == 0 else "---:" for n in used) + "|"
    for row in cells:
        yield "| " + " | ".join(row[n] for n in used) + " |"


def _cells(row: Row) -> tuple[str, ...]:
    ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
    return row.what, row.measured, row.compared, ratio, row.target, _VERDICTS[row.met]


def _section(result: Result, number: int, around: Around) -> Iterator[str]:
    yield f"## {result.title}\n"
    yield from table(result)
    yield f"\n{result.how}"
    for note in result.notes:
        yield f"\n- {note}" if note == result.notes[0] else f"- {note}"
    yield (
        f"\nMeasured {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC on machine {number}; a million steps of"
        f" Python took {around.pace * 1e3:.0f} ms; load average before: {around.load}; taken by other guests"
        f" of the host: {around.stolen:.0%} of the cores."
    )
