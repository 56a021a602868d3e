"""Fail-safe: what has left Time Travel is kept for seven days more, for the administrator alone.

In: what was dropped, all tables. Out: what can be recovered, and its recovery. No SQL leads here: "You can't
query or directly recover data in fail-safe storage" (Fail-safe). "Data is recoverable at the table level": a
table that was dropped comes back as it was then; of one that is there, an older state comes back as a table
of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lineage.names import quote_name
from time_travel.creating import place_in
from time_travel.errors import (
    NothingDroppedError,
    ObjectExistsError,
    OutsideRetentionError,
    UnknownObjectError,
)
from time_travel.lake import Table
from time_travel.point import show
from time_travel.storage import bytes_at
from time_travel.table_cloning import share

if TYPE_CHECKING:
    from time_travel.lake import Lake
    from time_travel.registry import Event, Registry
    from time_travel.storage import Holding, Spans
    from time_travel.undoing import Undo


@dataclass(frozen=True, slots=True)
class Recoverable:
    """What is in Fail-safe; times in UTC microseconds.

    Attributes:
        object_name: in full.
        kind: TABLE, VIEW, FUNCTION or SCHEMA that was dropped; VERSIONS of a table that is there.
        dropped: when; None for VERSIONS.
        since: when it entered Fail-safe; of VERSIONS the oldest moment that can be recovered.
        until: when it goes for good; None for VERSIONS, which go one after the other.
        bytes: of its files.
        event_id: of the drop.
    """

    object_name: str
    kind: str
    dropped: int | None
    since: int
    until: int | None
    bytes: int
    event_id: str | None


@dataclass(frozen=True, slots=True)
class FailSafe:
    """What the administrator can recover.

    Attributes:
        lake: a session of the system's own.
        registry: what was dropped.
        holdings: all tables.
        undo: brings back.
        at: the time, UTC microseconds.
    """

    lake: Lake
    registry: Registry
    holdings: Sequence[Holding]
    undo: Undo
    at: int

    def listed(self, spans: Spans) -> Iterator[Recoverable]:
        """All of it: what was dropped, the newest first, then tables with versions in Fail-safe."""
        sizes = [bytes_at(one, spans[number], self.at) for number, one in enumerate(self.holdings)]
        of_drop = {
            one.dropped.event_id: sizes[number].total
            for number, one in enumerate(self.holdings)
            if one.dropped is not None
        }
        for event in self._dropped():
            yield Recoverable(
                ".".join(event.name), event.domain, event.time, event.retained_until, event.kept_until,
                of_drop.get(event.event_id, 0), event.event_id,
            )  # fmt: skip
        for number, one in enumerate(self.holdings):
            if one.dropped is None and one.is_under_rule and sizes[number].fail_safe:
                oldest = max(one.horizons(self.at)[1], (one.log["created"] or 0) * 1000)
                yield Recoverable(
                    ".".join(one.name), "VERSIONS", None, oldest, None, sizes[number].fail_safe, None
                )

    def restore(self, name: tuple[str, ...], new: tuple[str, ...] | None = None) -> str:
        """Bring back the newest drop of a name that is in Fail-safe.

        Args:
            name: schema and object, or a schema alone.
            new: another name for what comes back; by default its own.

        Returns:
            What was done, in a sentence.

        Raises:
            NothingDroppedError: nothing of that name is in Fail-safe.
            ObjectExistsError: the name is taken.
        """
        wanted = tuple(part.lower() for part in name)
        found = [
            event
            for event in self._dropped()
            if tuple(part.lower() for part in event.name[-len(wanted) :]) == wanted
            and (event.domain == "SCHEMA") == (len(wanted) == 1)
        ]
        if not found:
            raise NothingDroppedError(
                f"no {'schema' if len(wanted) == 1 else 'object'} {quote_name(name)} is in Fail-safe",
                "audit failsafe list shows what is",
            )
        event = found[0] if new is None else replace(found[0], name=(*found[0].name[: -len(new)], *new))
        return self.undo.bring_back(event)

    def restore_version(self, name: tuple[str, ...], micros: int, new: tuple[str, ...]) -> str:
        """Bring back an older state of a table that is there, as a table of its own.

        Args:
            name: schema and table.
            micros: the moment, UTC microseconds.
            new: schema and name of the new table.

        Returns:
            What was done, in a sentence.

        Raises:
            NothingDroppedError: there is no such table.
            ObjectExistsError: the new name is taken.
            OutsideRetentionError: it was past Fail-safe, or before the table was made.
        """
        table = self.lake.find(name)
        holding = next(
            (one for one in self.holdings if isinstance(table, Table) and one.name == table.name), None
        )
        if holding is None or not isinstance(table, Table):
            raise NothingDroppedError(
                f"there is no table {quote_name(name)}", "what was dropped comes back without a moment"
            )
        if self.lake.find(new) is not None:
            raise ObjectExistsError(f"{quote_name(new)} exists", "choose another name")
        state = self.lake.state(holding.location)
        kept = holding.horizons(self.at)[1]
        version = -1 if state is None else self.lake.version_at(holding.location, state, micros // 1000)
        if state is None or version < state.earliest or self._left(holding, version) <= kept:
            raise OutsideRetentionError(
                f"{quote_name(name)} at {show(micros)} is past Fail-safe",
                f"what was replaced after {show(kept)} can be recovered",
            )
        self._clone(table, version, new)
        return f"Table {new[-1]} successfully made of {name[-1]} at {show(micros)}."

    def _clone(self, table: Table, version: int, new: tuple[str, ...]) -> None:
        schema = self.lake.schema_facts(new[-2])
        if schema is None:
            raise UnknownObjectError(f"there is no schema for {quote_name(new)}", "create it first")
        place = place_in(schema["location"], self.lake.warehouse, new[-1])
        share(self.lake, table, version, new, place, {})

    def _left(self, holding: Holding, version: int) -> int:
        """When a version was replaced, UTC microseconds."""
        state = self.lake.state(holding.location)
        if state is None or version >= state.latest:
            return self.at
        return self.lake.committed_at(holding.location, state, version + 1) * 1000

    def _dropped(self) -> list[Event]:
        alive = {one.location for one in self.holdings if one.dropped is None}
        return [
            event
            for event in self.registry.objects(self.lake).dropped
            if event.retained_until <= self.at < event.kept_until and alive.isdisjoint(event.places)
        ]
