"""Signals that end a command, which would leave what it has begun: a browser with its folder, a Spark.

In: a block. Out: the block is left as by an error when such a signal comes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
_KILLED = 128
"""What a shell adds to the number of the signal that has ended a program."""


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """A block that cleans up when the process is asked to end.

    Raises:
        SystemExit: a signal came.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # Python takes signals in its main thread alone
        return
    before = {one: signal.signal(one, _end) for one in _SIGNALS}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(_KILLED + number)
