"""The order of a fair comparison: A B B A A B B A.

In: a number of passes. Out: which side runs next. What drifts (heat, caches, a compiler that gets
better) then falls on both sides alike.
"""

from __future__ import annotations

from collections.abc import Iterator


def sides(passes: int) -> Iterator[bool]:
    """True (attached) and False (detached), each `passes` times.

    >>> [int(side) for side in sides(3)]
    [0, 1, 1, 0, 0, 1]
    """
    for number in range(passes):
        first = number % 2 == 1
        yield first
        yield not first
