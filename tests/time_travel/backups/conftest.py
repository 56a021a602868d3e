"""A session whose trusted time moves with its clock."""

from __future__ import annotations

import pytest

from audit.time_travel.backups.model import witnesses
from audit.time_travel.backups.model.trusted_time import Boot


class Witness:
    """The time since boot, which a test moves with the session's clock, or does not."""

    def __init__(self, clock):
        self._clock, self._began, self._unseen = clock, clock.now(), 0

    def advance(self, *, witnessed=True, **distance):
        """Move the machine's clock; the time since boot goes on with it where it is `witnessed`."""
        before = self._clock.now()
        self._clock.advance(**distance)
        if not witnessed:
            self._unseen += self._clock.now() - before

    def boot(self):
        """What `witnesses.boot` is to say."""
        return Boot("boot", self._clock.now() - self._began - self._unseen)


@pytest.fixture
def time_passes(moving_clock, monkeypatch):
    """Moves all clocks of `moving_session`: `time_passes(days=9)`; `witnessed=False` moves one alone."""
    witness = Witness(moving_clock)
    monkeypatch.setattr(witnesses, "boot", witness.boot)
    return witness.advance
