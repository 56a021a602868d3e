"""Making objects of which one may need another.

In: objects, and how each is made. Out: all of them made: those that Spark refuses wait until the others are
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def make_all(objects: Sequence[T], make: Callable[[T], None]) -> None:
    """Make each, in whatever order works.

    Raises:
        AnalysisException: what Spark says of the first that nothing here can mend.
    """
    left = list(objects)
    while left:
        waiting = [one for one in left if not _is_made(one, make)]
        if len(waiting) == len(left):
            make(waiting[0])
        left = waiting


def _is_made(one: T, make: Callable[[T], None]) -> bool:
    from pyspark.errors import AnalysisException

    try:
        make(one)
    except AnalysisException:
        return False
    return True
