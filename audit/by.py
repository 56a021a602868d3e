"""Who does something, by which statement, when.

In: nothing. Out: a value that is passed in, so that nothing here asks for the time, the user or an id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class By:
    """The circumstances of a statement.

    Attributes:
        time: UTC microseconds.
        user: who issued it.
        query_id: its id, None for what no statement does.
        new_id: gives ids of events.
        roles: those that were given to the session, the primary one first; () for those granted to the user.
    """

    time: int
    user: str
    query_id: str | None
    new_id: Callable[[], str]
    roles: tuple[str, ...] = ()
