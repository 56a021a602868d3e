"""What is done beside statements: measuring storage, purging, Fail-safe.

In: a session of the system's own, the root. Out: the answers of `audit storage`, `audit purge` and
`audit failsafe`, and the tables below the storage views.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from time_travel.failsafe import FailSafe
from time_travel.holding import holdings
from time_travel.measuring import SCHEMATA, TABLES, Measure, Written
from time_travel.purging import Purge, Purged
from time_travel.retention import DAY, in_force
from time_travel.storage import Bytes, Holding, bytes_at, measure
from time_travel.undoing import Undo

if TYPE_CHECKING:
    from audit.by import By
    from time_travel.errors import UnreadableTableError
    from time_travel.failsafe import Recoverable
    from time_travel.lake import Lake
    from time_travel.registry import Event, Registry
    from time_travel.retention import Retention


@dataclass(frozen=True, slots=True)
class Upkeep:
    """Looks after everything that is kept.

    Attributes:
        lake: a session of the system's own.
        registry: what was dropped.
        root: folder of the audit tables, a Hadoop path.
        schema: where tables are registered.
        is_under_rule: whether a table at a location, with these properties, is kept by this system.
        running_since: when the oldest statement began that still runs, UTC microseconds; None for none.
        written: what earlier looks at storage have written.
    """

    lake: Lake
    registry: Registry
    root: str
    schema: str
    is_under_rule: Callable[[str, Mapping[str, str]], bool]
    running_since: Callable[[], int | None]
    written: Written = field(default_factory=dict)

    def holdings(self) -> list[Holding]:
        """All Delta tables of the session catalog, and what was dropped and is not purged.

        Warns:
            UserWarning: about a table whose log cannot be read; it is left out.
        """
        return holdings(self.lake, self.registry, self.is_under_rule, lambda error, _: _warn(error))

    def measure(self, at: int) -> None:
        """Bring the tables below the storage views up to date.

        Args:
            at: the time, UTC microseconds.
        """
        # Its own two tables would change with each look.
        found = [one for one in self.holdings() if one.location.rpartition("/")[2] not in (TABLES, SCHEMATA)]
        look = Measure(self.lake, self.registry, self.root, self.schema, self._of_schema, at, self.written)
        look.write(found, *measure(self.lake.spark, found))

    def _of_schema(self, name: str) -> Retention:
        facts = self.lake.schema_facts(name) or {}
        return in_force({}, facts.get("properties", {}), self.registry.objects(self.lake).parameters)

    def by_day(
        self, begin: int, days: int, now: int, wanted: Callable[[Holding], bool] = lambda _: True
    ) -> list[tuple[int, Bytes]]:
        """What tables hold, day by day.

        What has been purged is no longer known: of days before a purge the freed bytes are missing. Of days
        to come: if nothing is written or purged until then.

        Args:
            begin: the first moment, UTC microseconds.
            days: how many days after it.
            now: UTC microseconds.
            wanted: which tables count.

        Returns:
            `days` + 1 pairs: the moment, and the sum over the tables.
        """
        found = self.holdings()
        spans, _ = measure(self.lake.spark, found)
        chosen = [(one, spans[number]) for number, one in enumerate(found) if wanted(one)]
        moments = [begin + day * DAY for day in range(days + 1)]
        return [
            (at, _sum([bytes_at(one, own, at, is_past=at < now) for one, own in chosen])) for at in moments
        ]

    def purge(
        self, by: By, *, dry: bool, progress: Callable[[int, int], None] = lambda _done, _of: None
    ) -> Iterator[Purged]:
        """Delete for good what nothing needs any more, or tell what would go.

        Args:
            by: who asks, and when.
            dry: change nothing.
            progress: told how many tables are done, and of how many.

        Raises:
            UnreadableTableError: a table whose log is damaged may be a clone that needs any file.
        """
        unreadable: set[str] = set()

        def told(error: UnreadableTableError, gone: Event | None) -> None:
            if gone is None or gone.kept_until > by.time:
                raise error
            unreadable.add(gone.event_id)
            _warn(error)

        since = self.running_since()
        found = holdings(self.lake, self.registry, self.is_under_rule, told)
        purge = Purge(self.lake, self.registry, found, by, since, self._owns, frozenset(unreadable))
        return purge.run(dry=dry, progress=progress)

    def fail_safe(self, by: By) -> FailSafe:
        """What the administrator can recover."""
        undo = Undo(self.lake, self.lake.spark, self.registry, by)
        return FailSafe(self.lake, self.registry, self.holdings(), undo, by.time)

    def recoverable(self, by: By) -> list[Recoverable]:
        """All that is in Fail-safe."""
        fail_safe = self.fail_safe(by)
        return list(fail_safe.listed(measure(self.lake.spark, fail_safe.holdings)[0]))

    def _owns(self, event: Event) -> bool:
        """Whether Spark would have deleted the files, or they lie where this system put them."""
        if event.details.get("kind") == "MANAGED":
            return True
        return any(self.is_under_rule(place, {}) for place in event.places)


def _warn(error: UnreadableTableError) -> None:
    warnings.warn(str(error), stacklevel=2)


def _sum(found: Sequence[Bytes]) -> Bytes:
    return Bytes(
        sum(one.active for one in found),
        sum(one.time_travel for one in found),
        sum(one.fail_safe for one in found),
        sum(one.retained_for_clone for one in found),
        sum(one.purgeable for one in found),
    )
