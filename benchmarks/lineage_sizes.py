"""Lineage of statements seen before, and of large ones: does time grow as they do?

In: the queries of TPC-H and TPC-DS; `benchmarks.large_statements`. Out: rows of the table.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from statistics import median

import lineage
from benchmarks import large_statements
from benchmarks.peers.process import Job
from benchmarks.result import Row, milliseconds
from lineage.sql.parse import _parsed as parse_anew

_SEEN = 1e-4
_NEW = 1.15
_LINEAR = 1.3  # four times the size takes four times the time, and what noise there is
_TIMES = 5
Make = Callable[[int], tuple[str, lineage.MemoryCatalog]]


def rows(job: Job, *, quick: bool) -> Iterator[Row]:
    """A statement seen before, 1,000 columns through 20 CTEs, 5,000 lines."""
    seen = _seen(job)
    yield Row(
        "A statement seen before, the median", milliseconds(seen, 4), "", None, "≤ 0.1 ms", seen <= _SEEN
    )
    smaller = 10 if quick else 1
    yield _new_texts(1_000 // smaller)
    yield from _growth("columns through 20 CTEs", large_statements.wide, 1_000 // smaller)
    yield from _growth("lines in one statement", large_statements.long, 5_000 // smaller)


def _new_texts(number: int) -> Row:
    """What the cache of texts costs those that come once: it holds its most while they are parsed."""
    for at in range(number):
        for _ in range(2):
            lineage.parse(_text("seen", at))
            lineage.parse("SELECT 1")  # the thread's last text is at hand without the cache
    with_cache, without = list[float](), list[float]()
    for turn in range(_TIMES):
        for times, parse in ((with_cache, lineage.parse), (without, parse_anew)):
            gc.collect()
            started = time.process_time()
            for at in range(number):
                parse(_text(f"new{turn}", at))
            times.append(time.process_time() - started)
    ratio = min(with_cache) / min(without)
    return Row(
        f"{number:,} texts seen once, with the cache full and without one",
        milliseconds(min(with_cache)),
        milliseconds(min(without)),
        ratio,
        f"≤ {_NEW}",
        ratio <= _NEW,
    )


def _text(stem: str, number: int) -> str:
    return (
        f"SELECT q.a, sum(b) OVER (PARTITION BY c ORDER BY d) AS x FROM {stem}{number} AS q"  # noqa: S608
        f" JOIN u ON q.a = u.a WHERE q.b > {number} AND u.c IN (SELECT c FROM v WHERE v.a = q.a) ORDER BY 1"
    )


def _seen(job: Job) -> float:
    catalogs = {of: lineage.MemoryCatalog(tables) for of, tables in job.schemas.items()}
    times: list[float] = []
    for of, sql in job.queries.values():
        lineage.analyze(sql, catalogs[of])
        again = "".join(sql)  # a text of its own, as a program would bring it
        began = time.perf_counter()
        lineage.analyze(again, catalogs[of])
        times.append(time.perf_counter() - began)
    return median(times)


def _growth(what: str, make: Make, size: int) -> Iterator[Row]:
    quarter = _least(make, size // 4)
    for part in (2, 1):
        took, linear = _least(make, size // part), quarter * 4 / part
        yield Row(
            f"{size // part:,} {what}; beside it {size // 4:,} of them, times {4 // part}",
            milliseconds(took, 0),
            milliseconds(linear, 0),
            took / linear,
            f"≤ {_LINEAR}",
            took <= linear * _LINEAR,
        )


def _least(make: Make, size: int) -> float:
    """The least processor time of one analysis; the text is too long for the cache of statements."""
    text, catalog = make(size)
    return min(_analyzed(f"{text} -- {n}", catalog) for n in range(_TIMES))


def _analyzed(text: str, catalog: lineage.MemoryCatalog) -> float:
    gc.collect()
    began = time.process_time()
    access = lineage.analyze(text, catalog)
    took = time.process_time() - began
    if access.analysis != "full":
        raise ValueError(
            f"a large statement is not understood: {access.reason}; see benchmarks.large_statements"
        )
    return took
