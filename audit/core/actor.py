"""The actor of a statement: user, roles, query id and time.

In: nothing. Out: a value that is passed as an argument, so that no function asks for the time, the user or an
id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Actor:
    """Who runs a statement, and when.

    Attributes:
        time: UTC microseconds.
        user: who issued it.
        query_id: its id; None outside of a statement.
        new_id: makes ids of events.
        roles: given to the session, the primary one first; () for those granted to the user.
    """

    time: int
    user: str
    query_id: str | None
    new_id: Callable[[], str]
    roles: tuple[str, ...] = ()
