"""Pauses Python's garbage collector while a large tree is parsed.

In: a block of code. Out: nothing. A tree is alive until it is whole, yet the collector looks at all of it
again and again meanwhile: half of the time that a statement of 5,000 lines takes to parse. Short
statements gain nothing, so they leave the collector, which belongs to the whole process, alone.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_turn = threading.Lock()


@contextmanager
def collector_paused() -> Iterator[None]:
    """No collections inside the block; where another thread holds it, or nobody wants it, as it was.

    One thread at a time holds it, and no one waits for it: so many threads cannot keep it off for good.
    """
    if not gc.isenabled() or not _turn.acquire(blocking=False):
        yield
        return
    try:
        gc.disable()
        yield
    finally:
        gc.enable()
        _turn.release()
