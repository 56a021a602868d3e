"""What Spark counted while an execution ran.

In: the end of an execution, as `PlanMetrics.java` reads it. Out: rows and bytes, None where Spark does not
know them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metrics:
    """Bytes of files read, rows and bytes written; `problem` is why none could be read."""

    bytes_scanned: int | None = None
    rows_written: int | None = None
    bytes_written: int | None = None
    problem: str | None = None

    def with_inner(self, inside: Sequence[Metrics]) -> Metrics:
        """With those of inner executions, which write where the outer one has counted nothing itself.

        >>> Metrics(10, None, 5).with_inner([Metrics(1, 2, 3)])
        Metrics(bytes_scanned=11, rows_written=2, bytes_written=5, problem=None)
        """
        both = (self, *inside)
        written = (
            sum_known(one.rows_written for one in inside),
            sum_known(one.bytes_written for one in inside),
        )
        return Metrics(
            sum_known(one.bytes_scanned for one in both),
            written[0] if self.rows_written is None else self.rows_written,
            written[1] if self.bytes_written is None else self.bytes_written,
            next((one.problem for one in both if one.problem), None),
        )


NOT_COUNTED = Metrics()


def sum_known(values: Iterable[int | None]) -> int | None:
    """The sum of what is known, None if nothing is.

    >>> sum_known([1, None, 2]), sum_known([None])
    (3, None)
    """
    known = [value for value in values if value is not None]
    return sum(known) if known else None
