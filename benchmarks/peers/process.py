"""An extractor in its own process, as the benchmark sees it.

In: its name, its Python, the queries. Out: passes over them, one at a time, so that several extractors can
take turns.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SCRIPT = Path(__file__).parent / "extractors.py"
_ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Job:
    """Queries by name, each with the corpus whose tables it is asked over, and the tables of each corpus."""

    queries: Mapping[str, tuple[str, str]]
    schemas: Mapping[str, Mapping[str, Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class Pass:
    """Seconds of one pass over all queries: by the clock, by the processor, and of each query."""

    clock: float
    processor: float
    each: list[float]


class Extractor:
    """A process that waits for what to do next.

    Args:
        name: of `benchmarks.peers.extractors.EXTRACTORS`.
        python: the interpreter that has it.
        job: what to work on.
    """

    def __init__(self, name: str, python: Path, job: Job) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(python), str(_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": str(_ROOT), "PYTHONUTF8": "1"},
        )
        self._send(json.dumps({"extractor": name, "queries": job.queries, "schemas": job.schemas}))

    def run(self) -> Pass:
        """One pass."""
        return Pass(**self._ask("pass"))

    def columns(self) -> dict[str, list[tuple[str, list[str]]] | str]:
        """Of each query its output columns with their base columns, or why there are none."""
        found: dict[str, list[tuple[str, list[str]]] | str] = self._ask("columns")
        return found

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()

    def _ask(self, what: str) -> Any:
        self._send(what)
        assert self._process.stdout is not None  # noqa: S101  for mypy: it is a pipe
        line = self._process.stdout.readline()
        if not line:
            raise ChildProcessError(f"extractor {self.name} ended; run {_SCRIPT.name} by hand to see why")
        return json.loads(line)

    def _send(self, line: str) -> None:
        assert self._process.stdin is not None  # noqa: S101  for mypy: it is a pipe
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
