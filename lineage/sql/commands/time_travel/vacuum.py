"""VACUUM, in Delta's words.

In: the tokens of a statement. Out: a `Vacuum`; None for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name


@dataclass(frozen=True, slots=True)
class Vacuum:
    """A VACUUM.

    Attributes:
        name: of the table; `("delta", path)` for one by its path.
        hours: RETAIN; 0 for a number that was not understood, None without RETAIN.
        dry: DRY RUN.
    """

    name: Name
    hours: float | None
    dry: bool


def read_vacuum(tokens: list[Token], text: str) -> Vacuum | None:
    """`VACUUM {t | 'path'} [USING INVENTORY …] [RETAIN n HOURS] [DRY RUN] [FULL | LITE]`.

    >>> from lineage.sql.tokens import tokenize
    >>> read_vacuum(tokenize("VACUUM s.t RETAIN 0 HOURS"), "VACUUM s.t RETAIN 0 HOURS")
    Vacuum(name=('s', 't'), hours=0.0, dry=False)
    >>> read_vacuum(tokenize("VACUUM '/data/t' LITE DRY RUN"), "VACUUM '/data/t' LITE DRY RUN")
    Vacuum(name=('delta', '/data/t'), hours=None, dry=True)
    """
    at = Cursor(tokens, text)
    if not at.take("VACUUM"):
        return None
    at.take("TABLE")
    path = at.string()
    name = at.name() if path is None else ("delta", path)
    hours, dry = None, False
    while not at.done:
        # The query of USING INVENTORY may hold these words, and stands in brackets, which a span passes over.
        at.span("RETAIN", "DRY")
        if at.take("RETAIN"):
            hours = _hours(at)
        elif at.take("DRY", "RUN"):
            dry = True
        else:
            at.at += 1
    return Vacuum(name, hours, dry)


def _hours(at: Cursor) -> float:
    # `0D` is cut into three tokens; Delta 4.4 takes the text of the number as Java does.
    first = at.at
    while not at.done and at.word() != "HOURS":
        at.at += 1
    number = "".join(token.text for token in at.tokens[first : at.at] if token.text != "::")
    try:
        hours = float(number.rstrip("dDfF"))
    except ValueError:
        # Zero hours: what cannot be read is checked as the VACUUM that deletes most.
        return 0.0
    return hours if isfinite(hours) else 0.0  # NaN is less than nothing
