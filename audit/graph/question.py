"""From a name and options to a graph.

In: a `Snapshot`, a name as people write it, options. Out: a `LineageGraph`. The errors name what was asked
for and what is near.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

import numpy as np

from audit.core.clock import to_datetime, to_micros
from audit.graph.build import build
from audit.graph.errors import LineageOptionInvalid
from audit.graph.lineage_graph import LineageGraph
from audit.graph.model import Direction
from audit.graph.naming import resolve
from audit.graph.snapshot import FOREVER, Snapshot
from audit.graph.walk import WalkOptions, WalkResult, downstream, upstream

DIRECTIONS = ("upstream", "downstream", "both")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked.

    Attributes:
        name: `schema.table.column` or `schema.table`, with the catalog before it where needed.
        direction: upstream, downstream or both.
        depth: hops at most; None: to the end.
        as_of: microseconds since the epoch, UTC; None: now.
        include_indirect: follow what filters, joins and sorts as well.
        include_history: everything ever, what has been replaced since as well.
    """

    name: str
    direction: Direction = "upstream"
    depth: int | None = None
    as_of: int | None = None
    include_indirect: bool = False
    include_history: bool = False

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise LineageOptionInvalid(
                f"there is no direction {self.direction!r}", f"it is one of {', '.join(DIRECTIONS)}"
            )
        # In Python True is the number 1.
        if self.depth is not None and (isinstance(self.depth, bool) or self.depth < 0):
            raise LineageOptionInvalid(
                f"the depth is {self.depth!r}", "it is a number of hops, 0 or more, or None for all"
            )

    @property
    def moment(self) -> int:
        """The last microsecond that counts."""
        return FOREVER if self.as_of is None else self.as_of


def parse_as_of(as_of: datetime | str | None) -> int | None:
    """A moment as microseconds since the epoch; a day alone means its first instant, all of it in UTC.

    >>> parse_as_of("1970-01-02") == parse_as_of("1970-01-02T01:00+01:00") == 86_400_000_000
    True

    Raises:
        LineageOptionInvalid: the text is no ISO 8601.
    """
    if as_of is None:
        return None
    if isinstance(as_of, str):
        text = as_of.strip()
        try:
            # Python 3.10 does not know the Z.
            as_of = datetime.fromisoformat(text[:-1] + "+00:00" if text[-1:] in ("Z", "z") else text)
        except ValueError:
            raise LineageOptionInvalid(
                f"{text!r} is no moment",
                "write it as 2026-01-31 or 2026-01-31T12:00:00+00:00 (UTC if unsaid)",
            ) from None
    if not isinstance(as_of, datetime):
        raise LineageOptionInvalid(f"as_of is {as_of!r}", "pass a datetime, or ISO 8601 text")
    try:
        return to_micros(
            as_of.astimezone(timezone.utc) if as_of.tzinfo else as_of.replace(tzinfo=timezone.utc)
        )
    except OverflowError:
        raise LineageOptionInvalid(
            f"{as_of.isoformat()} is before the year 1 or after 9999 in UTC", "write a moment between them"
        ) from None


def answer(snapshot: Snapshot, question: Question) -> LineageGraph:
    """Walk the snapshot, which is as of the question's moment.

    Raises:
        LineageNameUnknown: nothing of that name is on record.
        LineageNameAmbiguous: several things are.
    """
    found = resolve(snapshot, question.name, question.moment)
    start = found.nodes
    options = WalkOptions(
        question.include_indirect, found.is_object, question.include_history, question.depth
    )
    up = upstream(snapshot, start, options) if question.direction != "downstream" else _nothing()
    down = downstream(snapshot, start, options) if question.direction != "upstream" else _nothing()
    as_of = None if question.as_of is None else to_datetime(question.as_of)
    return build(snapshot, found, question.direction, as_of, up, down, question.moment)


def _nothing() -> WalkResult:
    none = np.zeros(0, np.int64)
    return WalkResult(none, none, none)
