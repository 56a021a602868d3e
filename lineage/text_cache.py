"""The cache of parsed texts: what comes again is not parsed again, and what comes once costs nothing.

In: a text. Out: its statement. A tree's nodes know their parents, so that only the garbage collector frees
it. A cache that holds each text makes all of them old: they fill the collector's last generation, whose
collections then take half the time of whoever sends new texts. So a text is kept when its thread has brought
it before; of the others a hash stays.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage.sql.statement import Statement


class _Last(threading.local):
    """The statement that a thread has parsed last: on its way it is asked for more than once."""

    text = ""
    statement: Statement | None = None


class TextCache:
    """Statements by their texts.

    Args:
        parse: makes a statement of a text.
        kept: how many statements are held.
        remembered: of how many texts it is known that they came once.
    """

    def __init__(self, parse: Callable[[str], Statement], kept: int, remembered: int) -> None:
        self._parse = parse
        self._sizes = kept, remembered
        self._kept: OrderedDict[str, Statement] = OrderedDict()
        # Two halves: the older one goes when the newer one is full. The collector does not look at numbers.
        self._once: set[int] = set()
        self._once_before: set[int] = set()
        self._last = _Last()
        self._lock = threading.Lock()

    def __call__(self, text: str) -> Statement:
        """The statement of a text."""
        last = self._last
        if last.text == text and last.statement is not None:
            return last.statement
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
        if found is None:
            found = self._parse(text)
            self._note(text, found)
        last.text, last.statement = text, found
        return found

    def clear(self) -> None:
        """Forget all texts."""
        with self._lock:
            self._kept.clear()
            self._once, self._once_before = set(), set()
        self._last = _Last()

    def _note(self, text: str, statement: Statement) -> None:
        kept, remembered = self._sizes
        # By thread: another one looks at a text that the first one has run, and that is no second time.
        key = hash((threading.get_ident(), text))
        with self._lock:
            if key not in self._once and key not in self._once_before:
                if len(self._once) * 2 >= remembered:
                    self._once, self._once_before = set(), self._once
                self._once.add(key)
                return
            self._kept[text] = statement
            if len(self._kept) > kept:
                self._kept.popitem(last=False)
