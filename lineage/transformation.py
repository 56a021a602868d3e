"""How a value came from its sources: unchanged, computed, or aggregated; kept as bits while tracing.

In: what both engines find, as bits: two for the direct sources of a value, two
for its base sources (a view may aggregate what the statement itself only copies). Out: the name of each.
"""

from __future__ import annotations

from typing import Literal

Transformation = Literal["IDENTITY", "TRANSFORMATION", "AGGREGATION"]
"""IDENTITY: the value as it is, or cast (Spark casts on every write). TRANSFORMATION: computed from it.
AGGREGATION: an aggregate, or a window over one, stands somewhere on the way."""

# The lower two bits are those of the direct sources, the upper two those of the base sources.
COMPUTED = 0b0101
AGGREGATED = 0b1010
BELOW = 0b1100
"""The bits of the base sources: what a view keeps of what happens inside it."""

# The last name is that of both bits: `sum(a) + 1` is computed from an aggregate, and stays one.
_NAMES: tuple[Transformation, ...] = ("IDENTITY", "TRANSFORMATION", "AGGREGATION", "AGGREGATION")


_NAMED = tuple([(direct, base) for base in _NAMES for direct in _NAMES])


def named(how: int) -> tuple[Transformation, Transformation]:
    """The transformations of the direct and of the base sources.

    >>> named(COMPUTED | (AGGREGATED & BELOW))
    ('TRANSFORMATION', 'AGGREGATION')
    """
    return _NAMED[how]


def bits(direct: Transformation, base: Transformation) -> int:
    """The bits of two names.

    >>> named(bits("IDENTITY", "AGGREGATION"))
    ('IDENTITY', 'AGGREGATION')
    """
    return _NAMES.index(direct) | _NAMES.index(base) << 2
