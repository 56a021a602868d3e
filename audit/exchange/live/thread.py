"""The thread of an application that sends what has been ingested.

In: a configuration with `openlineage_url`. Out: events at the receiver. It looks every few seconds whether
the tables have something new, and waits longer after an error. What it cannot send is told as a warning, once
for each reason, and waits in the tables.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from audit.core.clock import to_datetime
from audit.core.errors import AuditError
from audit.core.guard import attempt
from audit.exchange.live.sending import Sent, send_waiting

if TYPE_CHECKING:
    from audit.core.clock import Clock
    from audit.core.config import Config

_SECONDS, _AFTER_ERROR, _AT_END = 10.0, 60.0, 60.0


class SendingThread:
    """Sends in the background from the moment it is made.

    Args:
        config: names the receiver.
        clock: UTC microseconds.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._stop = threading.Event()
        self._told: set[str] = set()
        self._round()  # notes from when on statements are sent, before the first one
        self._thread = threading.Thread(target=self._loop, name="audit-openlineage", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send the rest, for a minute at most.

        What is left waits in the tables for the next driver, or for `audit export send`.
        """
        self._stop.set()
        self._thread.join(timeout=_AT_END)
        if not self._thread.is_alive():
            ends = self._clock.now() + int(_AT_END * 1_000_000)
            self._round(lambda: self._clock.now() > ends)

    def _loop(self) -> None:
        wait = _SECONDS
        while not self._stop.wait(min(wait, float(self._config.ingest_interval_seconds))):
            done = self._round(self._stop.is_set)
            wait = _AFTER_ERROR if done.error else _SECONDS

    def _round(self, stopped: Callable[[], bool] = lambda: False) -> Sent:
        return attempt(lambda: self._sent(stopped), self._failed)

    def _sent(self, stopped: Callable[[], bool]) -> Sent:
        done = send_waiting(self._config, self._now(), stopped=stopped)
        if done.error:
            self._warn(f"{self._config.openlineage_url} takes nothing now: {done.error}; the statements wait")
        if done.refused:
            self._warn(f"{self._config.openlineage_url} has refused statements; `audit status` counts them")
        return done

    def _failed(self, error: Exception) -> Sent:
        known = isinstance(error, AuditError)
        self._warn(
            str(error) if known else f"statements could not be sent, and will be tried again: {error!r}"
        )
        return Sent(error=str(error))

    def _warn(self, text: str) -> None:
        if text not in self._told:
            self._told.add(text)
            warnings.warn(text, stacklevel=2)

    def _now(self) -> datetime:
        return to_datetime(self._clock.now()).astimezone(timezone.utc).replace(tzinfo=None)
