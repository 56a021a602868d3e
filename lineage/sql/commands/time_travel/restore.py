"""RESTORE TABLE … TO: Delta's words, or AT | BEFORE (…) of the document.

In: the tokens of a statement. Out: a `Restore`; None for anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.sql.commands.time_travel.at_before import Point, point_at
from lineage.sql.cursor import Cursor

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token

    from lineage.sql.commands.command import Name


@dataclass(frozen=True, slots=True)
class Restore:
    """A RESTORE.

    Attributes:
        table: the parts of its name, as written.
        point: the version or time; None if it is missing.
        rest: the text after it that was not understood.
    """

    table: Name
    point: Point | None
    rest: str = field(default="")


def read_restore(tokens: list[Token], text: str) -> Restore | None:
    """`RESTORE [TABLE] t [TO] {VERSION | TIMESTAMP AS OF … | AT | BEFORE (…)}`.

    >>> from lineage.sql.tokens import tokenize
    >>> sql = "RESTORE TABLE s.t TO BEFORE (STATEMENT => '8e5d')"
    >>> found = read_restore(tokenize(sql), sql)
    >>> found.table, str(found.point)
    (('s', 't'), "BEFORE (STATEMENT => '8e5d')")
    """
    at = Cursor(tokens, text)
    if not at.take("RESTORE"):
        return None
    # TABLE and TO are optional in Delta's grammar.
    at.take("TABLE")
    table = at.name()
    at.take("TO")
    begin = at.at
    point, at.at = point_at(tokens, text, at.at, table)
    if not at.done:
        # The error shows all that stands behind TO, the part that could be read as well.
        at.at = begin
    return Restore(table, point, at.span())
