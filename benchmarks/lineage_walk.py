"""What a question to the lineage graph costs: over a million edges, and on the shell over a usual root.

In: a number of edges. Out: median and slowest of walks from columns and tables chosen at random, what the
first question of a process costs, and the whole of `audit lineage`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from audit.graph import Direction, LineageGraph, Question, answer
from audit.graph.snapshot import Snapshot
from audit.store.lineage_tables import snapshot_of
from benchmarks import lineage_data, sessions
from benchmarks.result import Options, Result, Row, Say, milliseconds

_USUAL = 10_000  # edges of a root that is nothing special


def run(options: Options, say: Say) -> Result:
    """Measure walks in this process, then the command in processes of its own."""
    edges = options.pick("records", full=1_000_000, quick=20_000)
    passes = options.pick("passes", full=30, quick=3)
    rows = []
    with sessions.folder("lineage") as root:
        say(f"{edges:,} edges")
        lineage_data.write(root, edges)
        first, snapshot = _first(root)
        rows.append(Row("first question of a process: read, sort, walk", milliseconds(first, 0)))
        for what, question, target in _questions(edges, passes):
            say(what)
            rows.append(_walks(what, snapshot, question, target))
    with sessions.folder("usual") as root:
        lineage_data.write(root, _USUAL)
        say(f"the command, over {_USUAL:,} edges")
        rows.append(_command(root, passes=max(5, passes // 3)))
    return Result(
        f"Lineage over {edges:,} edges",
        ("median", "slowest"),
        tuple(rows),
        f"Tables in {lineage_data.LAYERS} layers, each written from one to three of the layer below on each"
        f" of {lineage_data.DAYS} days, a third of them replaced as a whole; {passes} names chosen at random"
        " for each line, from the highest layer upstream and from the lowest downstream. A walk is the whole"
        " answer: name, rows, nodes and edges with their statements.",
    )


def _first(root: Path) -> tuple[float, Snapshot]:
    began = time.perf_counter()
    snapshot = snapshot_of(str(root))
    answer(snapshot, Question(lineage_data.name(lineage_data.LAYERS - 1, 0, 0)))
    return time.perf_counter() - began, snapshot


def _questions(edges: int, passes: int) -> list[tuple[str, list[Question], float]]:
    pick = np.random.default_rng(7)
    top, low = lineage_data.LAYERS - 1, 0
    width = max(1, lineage_data.tables(edges) // lineage_data.LAYERS)

    def some(layer: int, direction: Direction, *, column: bool, **more: bool) -> list[Question]:
        columns = [int(pick.integers(lineage_data.COLUMNS)) if column else None for _ in range(passes)]
        names = [lineage_data.name(layer, int(pick.integers(width)), one) for one in columns]
        return [Question(name, direction, include_history=more.get("ever", False)) for name in names]

    return [
        ("upstream of a column", some(top, "upstream", column=True), 1.0),
        ("upstream of a table", some(top, "upstream", column=False), 1.0),
        ("downstream of a column", some(low, "downstream", column=True), 1.0),
        ("upstream of a column, all ever", some(top, "upstream", column=True, ever=True), 1.0),
    ]


def _walks(what: str, snapshot: Snapshot, questions: list[Question], target: float) -> Row:
    costs, graphs = [], list[LineageGraph]()
    for question in questions:
        cost, graph = _timed(lambda asked=question: answer(snapshot, asked))  # type: ignore[misc]
        costs.append(cost)
        graphs.append(graph)
    largest = max(graphs, key=lambda graph: len(graph.edges))
    runs = sum(edge.count for edge in largest.edges)
    costs.sort()
    return Row(
        f"{what} (at most {len(largest.edges):,} edges of {runs:,} rows)",
        milliseconds(costs[len(costs) // 2], 0),
        milliseconds(costs[-1], 0),
        target=f"< {target:.0f} s",
        met=costs[-1] < target,
    )


def _timed(call: Callable[[], LineageGraph]) -> tuple[float, LineageGraph]:
    began = time.perf_counter()
    found = call()
    return time.perf_counter() - began, found


def _command(root: Path, passes: int) -> Row:
    name = lineage_data.name(lineage_data.LAYERS - 1, 0, 0)
    command = [sys.executable, "-m", "audit.cli", "lineage", name, "--root", str(root)]
    costs = []
    for _ in range(passes):
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, env=dict(os.environ))
        costs.append(time.perf_counter() - began)
    costs.sort()
    median = costs[len(costs) // 2]
    return Row(
        f"`audit lineage` on the shell, the whole process, {_USUAL:,} edges",
        milliseconds(median, 0),
        milliseconds(costs[-1], 0),
        target="< 1 s",
        met=median < 1,
    )
