"""What a statement costs in all, beside plain Spark and beside OpenLineage's listener.

In: three processes a round (`benchmarks.cost_process`), which take turns statement by statement. Out: the
processor's time of Python and the JVM for each family of statements against plain Spark's, and the time of
the caller's thread; what starting and attaching cost.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from audit.spark.embedded import java
from audit.spark.embedded.jars import Jar, resolve
from benchmarks import sessions
from benchmarks.corpus import Corpus
from benchmarks.cost_process import OPENLINEAGE, OURS, PLAIN, Job
from benchmarks.front_door import INSERT, QUERY
from benchmarks.result import Options, Result, Row, Say, milliseconds

_SIDES = (PLAIN, OPENLINEAGE, OURS)
_LISTENER = Jar(
    "io.openlineage",
    "openlineage-spark_2.13",
    "1.53.0",
    "5d84b0ae7e72909b5aae7ed87df878bf06b28d9ac3005765c3529d0a66dbae6f",
    43_037_532,
)
_MERGE = (
    "MERGE INTO bench.merged t USING (SELECT nation, count(*) AS n FROM bench.customers"
    " WHERE customer_id > {} GROUP BY nation) s ON t.nation = s.nation"
    " WHEN MATCHED THEN UPDATE SET t.total = s.n"
    " WHEN NOT MATCHED THEN INSERT (nation, total) VALUES (s.nation, s.n)"
)

Said = dict[str, dict[str, float]]
"""What each side has said of a family, or of its start."""
Round = dict[str, Said]
"""That of each family, and of "start"."""


@dataclass(frozen=True, slots=True)
class Family:
    """Statements of a kind.

    Attributes:
        name: in the table.
        texts: so many of them; none was asked for before, where the family repeats nothing.
        statements: how many are measured.
        warm: how many run before that.
        most: what all of the process may cost, to plain Spark.
    """

    name: str
    texts: Callable[[int], list[str]]
    statements: int
    warm: int
    most: float


def run(options: Options, say: Say) -> Result:
    """Measures all sides in turns, each in a process of its own."""
    rounds = options.pick("passes", full=5, quick=1)
    scale = options.scale if options.scale is not None else 0.01 if options.quick else 1.0
    java.locate(os.environ)
    short = _short(20 if options.quick else 1)
    queries = list(Corpus(say).tpch().values())
    long = [Family("queries of TPC-H", lambda _count: queries, len(queries), len(queries), 1.01)]
    found = [_round(number, short, None, say) for number in range(rounds)]
    of_tpch = [_round(number, long, scale, say) for number in range(max(1, rounds // 2))]
    rows = [row for family in short for row in _rows(family, found)]
    rows += [row for family in long for row in _rows(family, of_tpch)]
    return Result(
        "What a statement costs in all",
        ("recorded", "plain Spark"),
        (*rows, *_start(found)),
        f"Processor time of the whole process, Python and JVM, on {sessions.MASTER}, until everything is on"
        " record: our records in the spool, OpenLineage's events in its file. In a round each side has a"
        " fresh process, and the three take turns statement by statement, A B C, C B A …, after half as many"
        f" of each family to warm up (TPC-H: all). Medians of {rounds} rounds, {len(of_tpch)} for TPC-H at"
        f" scale {scale:g}; a ratio is the median of those of the rounds.",
        (
            (
                f"OpenLineage is {_LISTENER.name} with its file transport and its defaults; ours is"
                " `audit.attach` with its defaults, but for the ingest: it is asked for, and stands in lines"
                " of its own. The three have the same Spark and Delta, built by hand."
            ),
            (
                "The JVM compiles what runs often, on threads of its own: up to half of the processor's time"
                " of so few statements, and not twice the same."
            ),
            "OpenLineage records what writes. Ours records the columns of each statement.",
        ),
    )


def _short(part: int) -> list[Family]:
    """The families of short statements; so many times fewer of them."""
    numbers = count(1)

    def family(name: str, text: str, statements: int) -> Family:
        return Family(
            name,
            lambda how_many: [text.format(next(numbers)) for _ in range(how_many)],
            max(1, statements // part),
            max(1, statements // part // 2),
            1.05,
        )

    return [
        family("queries not seen before", QUERY, 100),
        family("queries repeated", QUERY.replace("{}", "0"), 100),
        family("INSERT … SELECT", INSERT, 40),
        family("MERGE", _MERGE, 10),
    ]


class _Process:
    """A side in its own process."""

    def __init__(self, side: str, scale: float | None, around: ExitStack, say: Say) -> None:
        self.side = side
        listener = resolve(os.environ, (_LISTENER,), say) if side == OPENLINEAGE else ()
        jars = os.pathsep.join(map(str, (*resolve(os.environ), *listener)))
        root = around.enter_context(sessions.folder("cost"))
        self._log = root / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.cost_process",
                    json.dumps(asdict(Job(side, str(root), jars, scale))),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
                cwd=root,  # Spark leaves files where it starts
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONUTF8": "1"},
            )
        around.callback(self._process.communicate)
        self.start = self._answer()

    def ask(self, *what: str) -> dict[str, float]:
        """Have it call a method of `cost_process.Side`."""
        assert self._process.stdin is not None  # noqa: S101  for mypy: it is a pipe
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, float]:
        assert self._process.stdout is not None  # noqa: S101  for mypy: it is a pipe
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"the side {self.side} ended:\n{self._log.read_text(encoding='utf-8')[-4000:]}")
        answer: dict[str, float] = json.loads(line)
        return answer


def _round(number: int, families: list[Family], scale: float | None, say: Say) -> Round:
    """Three fresh processes, in turns."""
    with ExitStack() as around:
        order = _SIDES if number % 2 == 0 else _SIDES[::-1]
        sides = [_Process(side, scale, around, say) for side in order]
        for family in families:
            _in_turns(sides, family.texts(family.warm))
        found: Round = {"start": {one.side: one.start for one in sides}}
        for family in families:
            for one in sides:
                one.ask("begin")
            _in_turns(sides, family.texts(family.statements))
            found[family.name] = {one.side: one.ask("end") for one in sides}
            spent = ", ".join(
                f"{side} {said['processor']:.2f} s" for side, said in found[family.name].items()
            )
            say(f"round {number + 1}, {family.statements} {family.name}: {spent}")
    return found


def _in_turns(sides: list[_Process], texts: list[str]) -> None:
    for number, text in enumerate(texts):
        for one in sides if number % 2 == 0 else sides[::-1]:
            one.ask("run", text)


def _rows(family: Family, rounds: list[Round]) -> Iterator[Row]:
    """One family: ours and OpenLineage's against plain Spark; the ingest; the caller's thread."""
    said = [one[family.name] for one in rounds]
    what = f"{family.statements} {family.name}"
    ours, other = _ratio(said, OURS), _ratio(said, OPENLINEAGE)
    target = f"≤ {family.most}, below OpenLineage", ours <= family.most and ours < other
    yield _row(f"{what}: ours{_added(said, OURS, family)}", said, OURS, *target)
    events = said[0][OPENLINEAGE]["events"]
    added = _added(said, OPENLINEAGE, family)
    yield _row(f"{what}: OpenLineage, {events} events{added}", said, OPENLINEAGE)
    for side, name in ((OURS, "ours"), (OPENLINEAGE, "OpenLineage")):
        yield _row(f"{what}: {name}, without what the JVM compiles", said, side, part="rest")
    yield _row(f"{what}: ours, by the clock of the caller's thread", said, OURS, part="clock")
    yield _row(f"{what}: OpenLineage, by the clock", said, OPENLINEAGE, part="clock")
    yield Row(f"{what}: the ingest of our records", f"{_each(said, OURS, 'ingest'):.2f} s")


def _row(
    what: str,
    said: list[Said],
    side: str,
    target: str = "",
    met: bool | None = None,  # noqa: FBT001  as in Row
    part: str = "processor",
) -> Row:
    one, plain = (_each(said, which, part) for which in (side, PLAIN))
    return Row(what, f"{one:.2f} s", f"{plain:.2f} s", _ratio(said, side, part), target, met)


def _each(said: list[Said], side: str, part: str = "processor") -> float:
    return median(one[side][part] for one in said)


def _ratio(said: list[Said], side: str, part: str = "processor") -> float:
    """The median of what a side took to what plain Spark took in the same round."""
    return median(one[side][part] / one[PLAIN][part] for one in said)


def _added(said: list[Said], side: str, family: Family) -> str:
    """What a statement costs more than with plain Spark: the median of the rounds."""
    more = median(one[side]["processor"] - one[PLAIN]["processor"] for one in said)
    return f", {milliseconds(more / family.statements, 1)} more a statement"


def _start(rounds: list[Round]) -> Iterator[Row]:
    """What starting and attaching cost, which is in none of the lines above."""
    said: list[dict[str, Any]] = [
        {side: one["started"] + one["attached"] for side, one in found["start"].items()} for found in rounds
    ]
    labels = {
        OURS: "start, small tables: ours, with the attach and a first ingest",
        OPENLINEAGE: "start, small tables: OpenLineage",
    }
    for side, label in labels.items():
        spent, plain = (median(one[which] for one in said) for which in (side, PLAIN))
        ratio = median(one[side] / one[PLAIN] for one in said)
        yield Row(label, f"{spent:.2f} s", f"{plain:.2f} s", ratio)
