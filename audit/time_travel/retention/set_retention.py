"""ALTER … SET of retention: kept in properties of table or schema, and in the registry for the account.

In: a `ParameterChange`. Out: nothing. Delta's properties, which bind a VACUUM from outside, are set on every
table that inherits the parameter. "Changing the retention period for your account or individual objects
changes the value for all lower-level objects that do not have a retention period explicitly set" (Changing
the data retention period for an object). A dropped object keeps its period.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table
from audit.time_travel.dropped.drop_registry import ObjectEvent
from audit.time_travel.errors import UnknownObjectError
from audit.time_travel.retention.parameters import DESCRIPTIONS, KNOWN, ParameterChange, require_transient
from audit.time_travel.retention.periods import (
    DEFAULT_DAYS,
    Retention,
    earlier_property,
    is_transient,
    key,
)
from audit.time_travel.retention.table_properties import delta_properties, is_pinned, owners, saved
from lineage.names import quote_name, sql_name
from lineage.sql.commands.time_travel.retention import HOURS, MINIMUM, RETENTION
from lineage.sql.like_patterns import like_matcher

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.time_travel.dropped.drop_registry import DropRegistry
    from lineage.sql.commands.time_travel.retention import ShowParameters

PARAMETER_COLUMNS = "key STRING, value STRING, default STRING, level STRING, description STRING, type STRING"
_DEFAULTS = {RETENTION: f"{DEFAULT_DAYS:g}", MINIMUM: "0", HOURS: ""}


@dataclass(frozen=True, slots=True)
class RetentionSetting:
    """Sets and shows parameters.

    Attributes:
        catalog: the user's session.
        run: the session for ALTER TABLE, whose commits carry the statement's id.
        registry: keeps the account's.
        retention: the periods of a table or, by name, of a schema.
        has_retention: whether a table is kept by this system.
        actor: who asks, and when.
        changing: a block in which the system sets properties of a table, by its location.
        require_permitted: refuses to change how long a table, by Delta's id, is kept.
    """

    catalog: DeltaCatalog
    run: SparkSession
    registry: DropRegistry
    retention: Callable[[Table | str], Retention]
    has_retention: Callable[[Table], bool]
    actor: Actor
    changing: Callable[[str], AbstractContextManager[None]]
    require_permitted: Callable[[str], None]

    def change(self, change: ParameterChange) -> None:
        """Set or unset.

        Raises:
            UnknownObjectError: there is no such table or schema.
            BadParameterError: it is too long for a transient object.
            AccessDeniedError: policies hide some of a table that would be kept shorter or longer.
        """
        if change.level == "TABLE":
            self._set_on_table(change)
            return
        schemas = self.catalog.schemas() if change.level == "ACCOUNT" else [change.name[-1]]
        # Before the change, as each table keeps its former period for the data of that time.
        before = [(table, self.retention(table)) for table in self._retained_tables(schemas)]
        if change.level == "ACCOUNT":
            self.registry.append(self.catalog, list(self._events(change)))
        elif not self._set_on_schema(change):
            return
        for table, periods in before:
            self._apply_retention(table, periods)

    def _retained_tables(self, schemas: Sequence[str]) -> Iterator[Table]:
        for schema in schemas:
            if self.catalog.schema_facts(schema) is None:
                continue
            for table in self.catalog.tables(schema):
                if not isinstance(table, Table) or table.provider != "delta":
                    continue
                state = self.catalog.state(table.location or "")
                if state is not None and self.has_retention(table):
                    self.require_permitted(state.table_id)
                    yield table

    def _events(self, change: ParameterChange) -> Iterator[ObjectEvent]:
        for number, (parameter, value) in enumerate(change.values.items()):
            yield ObjectEvent(
                # A microsecond apart: events are ordered by their time.
                self.actor.time + number,
                "SET_PARAMETER",
                self.actor.new_id(),
                "ACCOUNT",
                (parameter,),
                user=self.actor.user,
                query_id=self.actor.query_id,
                details={"value": value},
            )

    def _set_on_schema(self, change: ParameterChange) -> bool:
        facts = self.catalog.schema_facts(change.name[-1])
        if facts is None:
            if change.if_exists:
                return False
            raise UnknownObjectError(f"there is no schema {quote_name(change.name)}", "check its name")
        transient = is_transient(facts["properties"])
        require_transient(change.name, change.values.get(RETENTION), transient=transient)
        # Spark (4.2) has no ALTER SCHEMA … UNSET DBPROPERTIES, so an empty value means unset.
        pairs = {key(p): "" if value is None else str(value) for p, value in change.values.items()}
        self.run.sql(f"ALTER SCHEMA {sql_name(change.name)} SET DBPROPERTIES ({_pairs(pairs)})")
        return True

    def _set_on_table(self, change: ParameterChange) -> None:
        table = self.catalog.find(change.name)
        if not isinstance(table, Table):
            if change.if_exists and table is None:
                return
            raise UnknownObjectError(f"there is no table {quote_name(change.name)}", "check its name")
        location = table.location or ""
        state = self.catalog.state(location)
        if table.provider != "delta" or state is None:
            raise UnknownObjectError(
                f"{quote_name(table.name)} is a table of {table.provider}, which keeps no versions",
                "only Delta tables have a retention period",
            )
        self.require_permitted(state.table_id)
        own = self.catalog.properties(location, "")
        schema = self.catalog.schema_facts(table.name[-2]) or {}
        transient = is_transient(own) or is_transient(schema.get("properties", {}))
        require_transient(change.name, change.values.get(RETENTION), transient=transient)
        before, value = self.retention(table), change.values[RETENTION]
        is_kept = self.has_retention(table)
        with self.changing(location):
            if value is None:
                self.run.sql(
                    f"ALTER TABLE {sql_name(table.name)} UNSET TBLPROPERTIES IF EXISTS ('{key(RETENTION)}')"
                )
            else:
                # From now on retention sets Delta's properties of the table: what its owner has set is saved.
                values = saved(owners(own, is_kept=is_kept))
                _set(self.run, table, {**values, key(RETENTION): str(value)})
        self._apply_retention(table, before)

    def _apply_retention(self, table: Table, before: Retention) -> None:
        after = self.retention(table).after(before, self.actor.time)
        with self.changing(table.location or ""):
            apply_retention(self.run, self.catalog, table, after, self.actor.time)

    def show(self, question: ShowParameters) -> list[tuple[Any, ...]]:
        """The rows of SHOW PARAMETERS.

        Raises:
            UnknownObjectError: there is no such table or schema.
        """
        fits = like_matcher(question.like)
        return [
            (name, *self._in_force(question, name), DESCRIPTIONS[name], "NUMBER")
            for name, levels in KNOWN.items()
            if question.level in levels and fits(name)
        ]

    def _in_force(self, question: ShowParameters, name: str) -> tuple[str, str, str]:
        """Value, default, and the level at which the value is set."""
        account = self.registry.state(self.catalog).parameters
        if question.level == "ACCOUNT":
            value = account.get(name)
            return f"{value:g}" if value is not None else _DEFAULTS[name], _DEFAULTS[name], _set_at(value)
        schema = question.name[-1]
        if question.level == "TABLE":
            table = self.catalog.find(question.name)
            if not isinstance(table, Table):
                raise UnknownObjectError(f"there is no table {quote_name(question.name)}", "check its name")
            periods = self.retention(table)
            return f"{periods.given:g}", _DEFAULTS[name], periods.level
        facts = self.catalog.schema_facts(schema)
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name(question.name)}", "check its name")
        # An empty value means unset, see `_set_on_schema`.
        own = facts["properties"].get(key(name)) or None
        if name == HOURS:
            return own or "", "", "SCHEMA" if own else ""
        periods = self.retention(schema)
        return f"{periods.given:g}", _DEFAULTS[name], periods.level


def apply_retention(
    run: SparkSession,
    catalog: DeltaCatalog,
    table: Table,
    periods: Retention,
    at: int,
    *,
    unpin: bool = False,
) -> None:
    """Set Delta's properties of a table to the periods in force, and keep the former ones.

    Args:
        run: the session for ALTER TABLE.
        catalog: look-ups.
        table: of Delta.
        periods: of the table.
        at: the time, UTC microseconds.
        unpin: no clone needs its files any more; remove the pin.
    """
    own = catalog.properties(table.location or "", "")
    wanted = earlier_property(periods)
    if unpin or not is_pinned(own):
        wanted |= delta_properties(periods, at, owners(own, is_kept=True))
    # No commit without a change: each would be a new version of the table.
    if any(own.get(name) != value for name, value in wanted.items()):
        _set(run, table, wanted)


def _set(run: SparkSession, table: Table, pairs: dict[str, str]) -> None:
    run.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({_pairs(pairs)})")


def _set_at(value: float | None) -> str:
    return "" if value is None else "ACCOUNT"


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in values.items())
