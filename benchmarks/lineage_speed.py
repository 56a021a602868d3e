"""Lineage from text against the peers: TPC-H and TPC-DS, all output columns, the schema known.

In: Spark's own 125 texts (`benchmarks.corpus`), what its plans say of them (`benchmarks.expected_columns`),
and the peers, each in a process of its own (`benchmarks.peers`). Out: ours against each of them, against
the floors of sqlglot, and the times of statements seen before, wide and long.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from operator import attrgetter
from pathlib import Path
from statistics import median

from benchmarks import lineage_sizes
from benchmarks.corpus import Corpus
from benchmarks.expected_columns import Expected, expected
from benchmarks.peers.environments import PEERS, python_of
from benchmarks.peers.process import Extractor, Job, Pass
from benchmarks.result import Options, Result, Row, Say, milliseconds

_TITLES = {
    "datahub": "DataHub's sqlglot_lineage",
    "sqllineage": "sqllineage",
    "sqlglot_lineage": "sqlglot.lineage of all columns",
    "openlineage": "openlineage-sql",
    "qualify": "Floor: sqlglot's parse + qualify",
    "parse": "Floor: sqlglot's parse",
    "tokenize": "Floor: sqlglot's tokenize",
}
# How many times as long as ours the others must take, at least.
_TARGETS = {"datahub": 12.0, "sqllineage": 100.0, "qualify": 1.0, "parse": 1 / 1.5}
_PASSES = 5
_WINDOWS = (
    "Whoever counts the keys of a window as sources of its value is not exact there: to the access-history"
    " document they are accessed, and no source."
)
Runs = dict[str, list[Pass]]


def run(options: Options, say: Say) -> Result:
    """Measures passes over all queries, the extractors in turns; then the statements of a size."""
    passes, corpus = options.pick("passes", full=_PASSES, quick=1), Corpus(say)
    job = _job(corpus, few=options.quick)
    judge = expected(_job(corpus, few=False), say)
    names = [name for name in _TITLES if not (options.quick and name in PEERS)]
    with ExitStack() as opened:
        extractors = [
            opened.enter_context(closing(Extractor(name, _python(name, say), job)))
            for name in ("ours", *names)
        ]
        exact = {one.name: _exact(one, job, judge) for one in extractors}
        runs = _in_turns(extractors, passes, say)
    outputs = sum(len(judge[name]) for name in job.queries)
    return Result(
        "Lineage from text",
        ("ours", "theirs"),
        (
            _exactness(exact["ours"], outputs),
            *(row for name in names for row in _rows(name, runs, exact, outputs)),
            *lineage_sizes.rows(job, quick=options.quick),
        ),
        _how(len(job.queries), passes),
        (_WINDOWS, "Peers: " + ", ".join(" ".join(wanted) for wanted in PEERS.values()) + "."),
    )


def _how(queries: int, passes: int) -> str:
    return (
        f"The {queries} queries of TPC-DS and TPC-H among Spark's own tests, all output columns of each, the"
        " schema known, every text parsed anew. Each extractor in a process of its own; after one pass to"
        f" warm up, {passes} passes over all queries, the extractors in turns. Medians of the passes. Exact"
        " is an output column whose base columns are those of Spark's analyzed plan. Large statements: the"
        " least processor time of five."
    )


def _exactness(exact: int, outputs: int) -> Row:
    share = f"{exact / outputs:.1%} of {outputs}"
    return Row("Output columns exact, ours", share, "", None, "100 %", exact == outputs)


def _job(corpus: Corpus, *, few: bool) -> Job:
    texts = {"tpch": corpus.tpch(), "tpcds": corpus.tpcds()}
    queries = {f"{of}.{name}": (of, sql) for of, found in texts.items() for name, sql in found.items()}
    chosen = dict(list(queries.items())[:: 12 if few else 1])
    return Job(chosen, {"tpch": corpus.tpch_tables(), "tpcds": corpus.tpcds_tables()})


def _python(name: str, say: Say) -> Path:
    return python_of(name, say) if name in PEERS else Path(sys.executable)


def _in_turns(extractors: list[Extractor], passes: int, say: Say) -> Runs:
    runs: Runs = {one.name: [] for one in extractors}
    for number in range(passes + 1):
        # There and back: what drifts falls on all alike.
        for one in extractors if number % 2 else reversed(extractors):
            measured = one.run()
            if number:
                runs[one.name].append(measured)
        say(f"pass {number} of {passes}")
    return runs


def _exact(one: Extractor, job: Job, judge: Expected) -> int:
    found = one.columns()
    return sum(_agreeing(found[name], judge[name]) for name in job.queries)


def _agreeing(found: list[tuple[str, list[str]]] | str, wanted: list[tuple[str, list[str]]]) -> int:
    """How many output columns have the base columns that they should: by name, else by place.

    >>> _agreeing([("a", ["T.x"]), ("sum(b)", ["t.y"])], [("A", ["t.x"]), ("sum((b))", ["t.y"])])
    2
    """
    if isinstance(found, str):
        return 0
    named = {name.lower(): _folded(sources) for name, sources in found}
    placed = [_folded(sources) for _, sources in found] if len(found) == len(wanted) else []
    return sum(
        _folded(sources) == named.get(name.lower(), placed[at] if placed else None)
        for at, (name, sources) in enumerate(wanted)
    )


def _folded(sources: Iterable[str]) -> set[str]:
    return {source.lower() for source in sources}


def _rows(name: str, runs: Runs, exact: Mapping[str, int], outputs: int) -> Iterator[Row]:
    share = "" if name in ("qualify", "parse", "tokenize") else f", {exact[name] / outputs:.1%} exact"
    least = _TARGETS.get(name)
    for what, of in (("clock", attrgetter("clock")), ("processor", attrgetter("processor"))):
        ours, theirs = (median(map(of, runs[side])) for side in ("ours", name))
        yield Row(
            f"{_TITLES[name]}{share}, by the {what}",
            milliseconds(ours, 0),
            milliseconds(theirs, 0),
            ours / theirs,
            "" if least is None else f"≤ {1 / least:.3g}",
            None if least is None else ours * least <= theirs,
        )
    ours, theirs = (median(_by_query(runs[side])) for side in ("ours", name))
    yield Row(f"{_TITLES[name]}, the median query", milliseconds(ours), milliseconds(theirs), ours / theirs)


def _by_query(passes: list[Pass]) -> list[float]:
    return [median(times) for times in zip(*(one.each for one in passes), strict=True)]
