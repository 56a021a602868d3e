"""VACUUM keeps what retention, Fail-safe and clones need, whatever period it is given.

In: the text of a VACUUM, or the hours that a caller asks for, and the table. Out: nothing, or an error that
says how long the table is kept. Without RETAIN Delta goes by the table's own properties, which say so, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lineage.cursor import Cursor
from lineage.names import quote_name
from lineage.tokens import tokenize
from time_travel.errors import RetainedError
from time_travel.retention import is_pinned

if TYPE_CHECKING:
    from collections.abc import Mapping

    from time_travel.lake import Table
    from time_travel.retention import Retention


@dataclass(frozen=True, slots=True)
class Vacuum:
    """A VACUUM.

    Attributes:
        name: of the table; `("delta", path)` for one by its path.
        hours: what it is to retain; None where it says nothing.
        dry: it only lists.
    """

    name: tuple[str, ...]
    hours: float | None
    dry: bool


def read_vacuum(text: str) -> Vacuum | None:
    """What a text vacuums; None where it is no VACUUM.

    >>> read_vacuum("VACUUM s.t RETAIN 0 HOURS")
    Vacuum(name=('s', 't'), hours=0.0, dry=False)
    >>> read_vacuum("VACUUM '/data/t' LITE DRY RUN")
    Vacuum(name=('delta', '/data/t'), hours=None, dry=True)
    """
    at = Cursor(tokenize(text) or [], text)
    if not at.take("VACUUM"):
        return None
    path = at.string()
    name = at.name() if path is None else ("delta", path)
    hours, dry = None, False
    while not at.done:
        if at.take("RETAIN"):
            hours = float(at.span("HOURS").strip("'"))
        elif at.take("DRY", "RUN"):
            dry = True
        else:
            at.at += 1
    return Vacuum(name, hours, dry)


def require_kept(
    table: Table, hours: float, periods: Retention, at: int, properties: Mapping[str, str]
) -> None:
    """Refuse a VACUUM that would delete what is kept.

    Raises:
        RetainedError: the table is kept for longer, or a clone reads its files.
    """
    if is_pinned(properties):
        raise RetainedError(
            f"VACUUM {quote_name(table.name)} RETAIN {hours:g} HOURS: clones of it may read its files",
            "leave RETAIN out, or free what none of them needs: audit purge",
        )
    needed = periods.longest(at) * 24
    if hours < needed:
        raise RetainedError(
            f"VACUUM {quote_name(table.name)} RETAIN {hours:g} HOURS is less than its retention period and"
            f" Fail-safe, {needed:g} hours",
            "leave RETAIN out, or shorten the period first: ALTER TABLE … SET DATA_RETENTION_TIME_IN_DAYS",
        )
