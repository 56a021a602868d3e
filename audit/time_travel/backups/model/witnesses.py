"""Asks the clocks of this machine.

In: the machine's clock, and the store's date where it has one. Out: an `Observation`.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from audit.time_travel.backups.model.trusted_time import Boot, Observation

if TYPE_CHECKING:
    from audit.core.clock import Clock

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
"""Linux makes one for each boot; a container has that of its host."""


def boot(boot_id: Path = BOOT_ID) -> Boot | None:
    """The boot of this machine; None where it does not tell (it is no Linux).

    Args:
        boot_id: the file that names it.
    """
    try:
        identity = boot_id.read_text(encoding="ascii").strip()
        # Sleep counts, and no call sets it. A time namespace of Linux can: whoever makes one is root.
        age = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    except (OSError, AttributeError):
        return None
    return Boot(identity, age)


def observation(clock: Clock, store: int | None = None) -> Observation:
    """What the clocks say now.

    Args:
        clock: the machine's.
        store: the date that the store gave a file written just now, UTC microseconds; None for a store
            without a clock of its own, as a disk of this machine.
    """
    return Observation(clock.now(), boot(), store)
