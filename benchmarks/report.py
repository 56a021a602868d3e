"""RESULTS.md: the tables of all benchmarks, each with when and beside what load it was measured.

In: measured results as JSON under `.data/results`, one file a benchmark, so that one that is run again
replaces its own table and no other. Out: Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks import machine
from benchmarks.result import DATA, Options, Result, Row

RESULTS = Path(__file__).parent / "RESULTS.md"
_VERDICTS = {True: "met", False: "**not met**", None: ""}


@dataclass(frozen=True, slots=True)
class Measured:
    """A result, when (UTC), on what machine and beside what it was measured.

    Attributes:
        load: the load average before it began.
        stolen: the share of the cores' time that the host gave to others meanwhile; None: not measured.
    """

    result: Result
    date: str
    machine: str
    load: str
    stolen: float | None


def path_of(*, quick: bool) -> Path:
    """Where the report goes; a quick run leaves RESULTS.md alone."""
    return DATA / "RESULTS-quick.md" if quick else RESULTS


def keep(name: str, options: Options, result: Result, load: str, stolen: float) -> None:
    """Store one result."""
    date = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
    value = {
        "result": result.to_dict(),
        "date": date,
        "machine": machine.describe(),
        "load": load,
        "stolen": stolen,
    }
    path = _store(quick=options.quick) / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def write(names: tuple[str, ...], *, quick: bool) -> Path:
    """Write the report of everything measured so far, in the order of the names."""
    paths = (_store(quick=quick) / f"{name}.json" for name in names)
    measured = [_read(json.loads(path.read_text(encoding="utf-8"))) for path in paths if path.exists()]
    path = path_of(quick=quick)
    path.write_text("\n".join(_lines(measured, quick=quick)) + "\n", encoding="utf-8")
    return path


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


def _store(*, quick: bool) -> Path:
    return DATA / "results" / ("quick" if quick else "full")


def _read(value: dict[str, Any]) -> Measured:
    result = Result.from_dict(value["result"])
    return Measured(result, value["date"], value["machine"], value["load"], value.get("stolen"))


def _lines(measured: list[Measured], *, quick: bool) -> Iterator[str]:
    yield "# What the audit costs"
    yield ""
    yield "Written by `make bench`. Figures as measured, whether the target is met or not. A ratio is the"
    yield "first figure to the second."
    if quick:
        yield "\n**A quick run: sizes are tiny, and the figures mean nothing.**"
    machines = list(dict.fromkeys(one.machine for one in measured))
    for number, one in enumerate(machines, 1):
        yield f"\nMachine{f' {number}' if len(machines) > 1 else ''}: {one}."
    for one in measured:
        on = f" on machine {machines.index(one.machine) + 1}" if len(machines) > 1 else ""
        yield f"\n## {one.result.title}\n"
        yield from table(one.result)
        yield f"\n{one.result.how}"
        for note in one.result.notes:
            yield f"\n- {note}" if note == one.result.notes[0] else f"- {note}"
        stolen = (
            ""
            if one.stolen is None
            else f"; taken by other guests of the host: {one.stolen:.0%} of the cores"
        )
        yield f"\nMeasured {one.date}{on}; load average before: {one.load}{stolen}."
