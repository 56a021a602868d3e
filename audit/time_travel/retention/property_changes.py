"""ALTER TABLE … SET | UNSET TBLPROPERTIES of what retention sets, and what a user is shown of it.

In: what a user sets or unsets, in SQL or by an API (`TablePlans.java`). Out: the properties that are set in
its place. The user's value of `delta.deletedFileRetentionDuration` or `delta.logRetentionDuration` is kept as
the owner's own; what is stored keeps files and log for no shorter than retention, Fail-safe and clones need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table
from audit.time_travel.retention.periods import OWN
from audit.time_travel.retention.retention_rule import RetentionRule, has_retention
from audit.time_travel.retention.table_properties import (
    SET_BY_RETENTION,
    delta_properties,
    is_pinned,
    of_text,
    owners,
    require_not_ours,
    saved,
    shown,
)

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog

_BY_LOWER = {name.lower(): name for name in SET_BY_RETENTION}


@dataclass(frozen=True, slots=True)
class PropertyChange:
    """An ALTER TABLE … SET | UNSET TBLPROPERTIES.

    Attributes:
        values: that are set, by name.
        unset: names.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    unset: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PropertyChanges:
    """Changes of properties that retention sets.

    Attributes:
        rule: the periods of tables.
        own: the locations of tables that the system itself changes now.
    """

    rule: RetentionRule
    own: set[str] = field(default_factory=set)

    @contextmanager
    def of_system(self, location: str) -> Iterator[None]:
        """A block in which the system itself sets properties of a table, by a statement of the user's."""
        place = location.rstrip("/")
        self.own.add(place)
        try:
            yield
        finally:
            self.own.discard(place)

    def altered(
        self, catalog: DeltaCatalog, name: tuple[str, ...], location: str, change: PropertyChange
    ) -> PropertyChange | None:
        """What is changed in the place of a user's change; None if it stays as it is.

        Raises:
            BadParameterError: a property is Time Travel's own, or a value is no interval.
        """
        if location.rstrip("/") in self.own:
            return None
        require_not_ours([*change.values, *change.unset])
        catalog.state(location)
        now = catalog.properties(location, "")
        is_kept = has_retention(location, now)
        if not (is_kept or is_pinned(now)):
            return None
        own, rest = of_text(change.values)
        # What is stored stays, if it is longer than needed, until the next change or purge.
        unset = [_own_name(one) for one in change.unset]
        if not own:
            return PropertyChange(rest, unset)
        values = {**rest, **saved(own)}
        if not is_pinned(now):
            table = catalog.find(name)
            periods = self.rule.periods(
                catalog,
                table if isinstance(table, Table) else Table(name, location, "delta", managed=False),
                values,
            )
            values |= delta_properties(periods, self.rule.clock(), owners(now, is_kept=is_kept) | own)
        return PropertyChange(values, unset)

    @staticmethod
    def shown(location: str, properties: Mapping[str, str]) -> dict[str, str]:
        """The properties of a table as its owner has set them."""
        return shown(properties, is_kept=has_retention(location, properties))


def _own_name(name: str) -> str:
    known = _BY_LOWER.get(name.lower())
    return name if known is None else OWN + known
