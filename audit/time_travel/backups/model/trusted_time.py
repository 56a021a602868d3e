"""The time by which a retention lock ends: a mark that only advances, by time that two clocks agree upon.

In: what the clocks say, now and then. Out: the mark, UTC microseconds. Pure; `witnesses` asks the clocks.

Whoever can set a machine's clock could set it past every lock. So no lock asks that clock alone. The mark is
kept with the backups, and time counts only as far as two clocks that nobody sets together have seen it pass:

- The store's dates and the machine's clock, where the store has a clock of its own (an object store).
- The time since the machine's boot and the machine's clock, of one boot. No call sets the time since boot,
  and a boot has an id of its own.

Between two looks counts what the slower of the two clocks says; of the two pairs the one that says more.

Time that nobody has witnessed does not count: a machine that was off, the first look of a boot. Without a
store that has a clock, a lock lasts longer by these times, never shorter. The mark is no calendar: its
beginning is what the clocks said at the first look, so a clock that was wrong then changes no duration. A
clock that goes back stops the mark until both clocks go on; it never takes the mark back.

Several machines may share a mark. Each adds what its own boot has seen since its own last look, counted from
the mark as it was then, so that no time counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

_BOOTS = 64
"""Boots that are remembered, the newest: a boot that is forgotten witnesses from its next look on."""


@dataclass(frozen=True, slots=True)
class Boot:
    """A boot of a machine.

    Attributes:
        identity: another one for each boot.
        age: microseconds since the boot, sleep included.
    """

    identity: str
    age: int


@dataclass(frozen=True, slots=True)
class Observation:
    """What the clocks say at one moment.

    Attributes:
        machine: the machine's clock, UTC microseconds.
        boot: None where the machine does not tell.
        store: the store's date, UTC microseconds; None where the store has no clock of its own, as a disk.
    """

    machine: int
    boot: Boot | None = None
    store: int | None = None


@dataclass(frozen=True, slots=True)
class BootSeen:
    """The last look of a boot: the mark after it, the age of the boot, the machine's clock."""

    mark: int
    age: int
    machine: int


@dataclass(frozen=True, slots=True)
class StoreSeen:
    """The look at the latest date that was not late: the mark after it, that date, the machine's clock."""

    mark: int
    date: int
    machine: int


@dataclass(frozen=True, slots=True)
class TrustedTime:
    """The mark and what is needed to advance it.

    Attributes:
        mark: UTC microseconds; None before the first look.
        boots: the last look of each boot, by its identity.
        store: None before the first look at a store with a clock.
    """

    mark: int | None = None
    boots: Mapping[str, BootSeen] = field(default_factory=dict)
    store: StoreSeen | None = None

    @property
    def now(self) -> int:
        """The mark; 0 before the first look, when no lock has been set."""
        return self.mark or 0


def observed(before: TrustedTime, seen: Observation) -> TrustedTime:
    """The mark after a look at the clocks.

    >>> hour = 3_600_000_000
    >>> first = observed(TrustedTime(), Observation(5 * hour, Boot("a", hour)))
    >>> forward = observed(first, Observation(9000 * hour, Boot("a", 3 * hour)))  # the clock was set
    >>> (forward.mark - first.mark) // hour
    2

    Args:
        before: the state before the look.
        seen: what the clocks say.
    """
    first = seen.machine if seen.store is None else min(seen.machine, seen.store)
    mark = first if before.mark is None else before.mark
    known = before.boots.get(seen.boot.identity) if seen.boot is not None else None
    if known is not None and seen.boot is not None:
        passed = min(seen.boot.age - known.age, seen.machine - known.machine)
        mark = max(mark, known.mark + passed)
    if before.store is not None and seen.store is not None:
        passed = min(seen.store - before.store.date, seen.machine - before.store.machine)
        mark = max(mark, before.store.mark + passed)
    return replace(
        before, mark=mark, boots=_with_boot(before.boots, mark, seen), store=_with_store(before, mark, seen)
    )


def _with_boot(boots: Mapping[str, BootSeen], mark: int, seen: Observation) -> Mapping[str, BootSeen]:
    if seen.boot is None:
        return boots
    others = [(key, value) for key, value in boots.items() if key != seen.boot.identity]
    return {**dict(others[1 - _BOOTS :]), seen.boot.identity: BootSeen(mark, seen.boot.age, seen.machine)}


def _with_store(before: TrustedTime, mark: int, seen: Observation) -> StoreSeen | None:
    # Servers of one store differ by a second or so. A late date must not be the next beginning, whether it is
    # earlier than the last one or the boot has seen more time pass: the differences would add up.
    known = before.store
    if seen.store is None:
        return known
    if known is not None and (seen.store <= known.date or mark - seen.store > known.mark - known.date):
        return known
    return StoreSeen(mark, seen.store, seen.machine)
