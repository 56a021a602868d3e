"""What a benchmark is given and what it returns.

In: nothing. Out: `Options`, which go through JSON since each benchmark runs in a process of its own, and
`Row` and `Result`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / ".data"
"""Where generated and fetched data is kept between runs; git ignores it."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """How large to measure; None leaves it to the benchmark.

    Attributes:
        quick: tiny sizes, to see that everything works; the figures mean nothing.
        scale: of TPC-H, 1 is 6 million line items.
        passes: measured passes or rounds on each side.
        records: to ingest; of `year`: a day; of `backups`: files of a table.
        days: of the year, of daily backups.
        kills: of the crash test.
    """

    quick: bool = False
    scale: float | None = None
    passes: int | None = None
    records: int | None = None
    days: int | None = None
    kills: int | None = None

    def pick(self, name: str, full: int, quick: int) -> int:
        """A size: what the caller asked for, else the full one or the quick one."""
        asked = getattr(self, name)
        return int(asked) if asked is not None else quick if self.quick else full

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: `measured` against `compared`, and against `target` where there is one."""

    what: str
    measured: str
    compared: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's table.

    Attributes:
        title: its heading.
        columns: what `measured` and `compared` are called here.
        rows: the table.
        how: how it was measured, in a sentence or two.
        notes: what a reader must know beside it.
    """

    title: str
    columns: tuple[str, str]
    rows: tuple[Row, ...]
    how: str
    notes: tuple[str, ...] = ()


def milliseconds(seconds: float, digits: int = 2) -> str:
    """A duration for the table.

    >>> milliseconds(0.00123)
    '1.23 ms'
    """
    return f"{seconds * 1e3:,.{digits}f} ms"
