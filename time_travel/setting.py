"""Retention set: on a table in its properties, on a schema in the catalog's, on the account in the registry.

In: a `Change`. Out: nothing; the properties of Delta that keep an outside VACUUM from deleting what is
retained follow, on every table that inherits. "Changing the retention period for your account or individual
objects changes the value for all lower-level objects that do not have a retention period explicitly set"
(Changing the data retention period for an object); what was dropped keeps its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.names import quote_name, sql_name
from lineage.patterns import matcher
from time_travel.errors import UnknownObjectError
from time_travel.lake import Table
from time_travel.parameters import DESCRIPTIONS, KNOWN, Change, Question, require_transient
from time_travel.registry import Event
from time_travel.retention import (
    DEFAULT_DAYS,
    HOURS,
    MINIMUM,
    PREFIX,
    RETENTION,
    Retention,
    delta_properties,
    earlier_property,
    is_pinned,
    is_transient,
    key,
    lasting,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from time_travel.lake import Lake
    from time_travel.registry import Registry

PARAMETER_COLUMNS = "key STRING, value STRING, default STRING, level STRING, description STRING, type STRING"
_DEFAULTS = {RETENTION: f"{DEFAULT_DAYS:g}", MINIMUM: "0", HOURS: ""}


@dataclass(frozen=True, slots=True)
class Setting:
    """Sets and shows parameters.

    Attributes:
        lake: the user's session.
        run: runs a statement of the system's own where the user's commits are marked.
        registry: keeps the account's.
        retention: the periods of a table or, by name, of a schema.
        is_under_rule: whether a table is kept by this system.
        by: who asks, and when.
    """

    lake: Lake
    run: SparkSession
    registry: Registry
    retention: Callable[[Table | str], Retention]
    is_under_rule: Callable[[Table], bool]
    by: By

    def change(self, change: Change) -> None:
        """Set or unset.

        Raises:
            UnknownObjectError: there is no such table or schema.
            BadParameterError: too long for what is transient.
        """
        if change.level == "TABLE":
            self._set_on_table(change)
            return
        schemas = self.lake.schemas() if change.level == "ACCOUNT" else [change.name[-1]]
        before = [(table, self.retention(table)) for table in self._under_rule(schemas)]
        if change.level == "ACCOUNT":
            self.registry.append(self.lake, list(self._events(change)))
        elif not self._set_on_schema(change):
            return
        for table, periods in before:
            self._follow(table, periods)

    def _under_rule(self, schemas: Sequence[str]) -> Iterator[Table]:
        for schema in schemas:
            if self.lake.schema_facts(schema) is None:
                continue
            for table in self.lake.tables(schema):
                if not isinstance(table, Table) or table.provider != "delta":
                    continue
                if self.lake.state(table.location or "") is not None and self.is_under_rule(table):
                    yield table

    def _events(self, change: Change) -> Iterator[Event]:
        for number, (parameter, value) in enumerate(change.values.items()):
            yield Event(
                self.by.time + number,
                "SET_PARAMETER",
                self.by.new_id(),
                "ACCOUNT",
                (parameter,),
                user=self.by.user,
                query_id=self.by.query_id,
                details={"value": value},
            )

    def _set_on_schema(self, change: Change) -> bool:
        facts = self.lake.schema_facts(change.name[-1])
        if facts is None:
            if change.if_exists:
                return False
            raise UnknownObjectError(f"there is no schema {quote_name(change.name)}", "check its name")
        transient = is_transient(facts["properties"])
        require_transient(change.name, change.values.get(RETENTION), transient=transient)
        # Spark's catalog knows no UNSET for a schema: an empty value is none.
        pairs = {key(p): "" if value is None else str(value) for p, value in change.values.items()}
        self.run.sql(f"ALTER SCHEMA {sql_name(change.name)} SET DBPROPERTIES ({_pairs(pairs)})")
        return True

    def _set_on_table(self, change: Change) -> None:
        table = self.lake.find(change.name)
        if not isinstance(table, Table):
            if change.if_exists and table is None:
                return
            raise UnknownObjectError(f"there is no table {quote_name(change.name)}", "check its name")
        location = table.location or ""
        if table.provider != "delta" or self.lake.state(location) is None:
            raise UnknownObjectError(
                f"{quote_name(table.name)} is a table of {table.provider}, which keeps no versions",
                "only Delta tables have a retention period",
            )
        own = self.lake.properties(location, PREFIX)
        schema = self.lake.schema_facts(table.name[-2]) or {}
        transient = is_transient(own) or is_transient(schema.get("properties", {}))
        require_transient(change.name, change.values.get(RETENTION), transient=transient)
        before, value = self.retention(table), change.values[RETENTION]
        if value is None:
            self.run.sql(
                f"ALTER TABLE {sql_name(table.name)} UNSET TBLPROPERTIES IF EXISTS ('{key(RETENTION)}')"
            )
        else:
            _set(self.run, table, {key(RETENTION): str(value)})
        self._follow(table, before)

    def _follow(self, table: Table, before: Retention) -> None:
        after = self.retention(table).after(before, self.by.time)
        follow(self.run, self.lake, table, after, self.by.time)

    def show(self, question: Question) -> list[tuple[Any, ...]]:
        """The rows of SHOW PARAMETERS.

        Raises:
            UnknownObjectError: there is no such table or schema.
        """
        fits = matcher(question.like)
        return [
            (name, *self._in_force(question, name), DESCRIPTIONS[name], "NUMBER")
            for name, levels in KNOWN.items()
            if question.level in levels and fits(name)
        ]

    def _in_force(self, question: Question, name: str) -> tuple[str, str, str]:
        """Value, default, and the level at which the value is set."""
        account = self.registry.objects(self.lake).parameters
        if question.level == "ACCOUNT":
            value = account.get(name)
            return f"{value:g}" if value is not None else _DEFAULTS[name], _DEFAULTS[name], _set_at(value)
        schema = question.name[-1]
        if question.level == "TABLE":
            table = self.lake.find(question.name)
            if not isinstance(table, Table):
                raise UnknownObjectError(f"there is no table {quote_name(question.name)}", "check its name")
            periods = self.retention(table)
            return f"{periods.given:g}", _DEFAULTS[name], periods.level
        facts = self.lake.schema_facts(schema)
        if facts is None:
            raise UnknownObjectError(f"there is no schema {quote_name(question.name)}", "check its name")
        own = facts["properties"].get(key(name)) or None
        if name == HOURS:
            return own or "", "", "SCHEMA" if own else ""
        periods = self.retention(schema)
        return f"{periods.given:g}", _DEFAULTS[name], periods.level


def follow(
    run: SparkSession, lake: Lake, table: Table, periods: Retention, at: int, *, unpin: bool = False
) -> None:
    """Let Delta's own properties of a table say what is in force, and what was.

    Args:
        run: a session that may alter it.
        lake: look-ups.
        table: of Delta.
        periods: of the table.
        at: the time, UTC microseconds.
        unpin: no clone needs its files any more.
    """
    own = lake.properties(table.location or "", "")
    wanted = earlier_property(periods)
    if unpin or not is_pinned(own):
        wanted |= lasting(delta_properties(periods, at), own)
    if any(own.get(name) != value for name, value in wanted.items()):
        _set(run, table, wanted)


def _set(run: SparkSession, table: Table, pairs: dict[str, str]) -> None:
    run.sql(f"ALTER TABLE {sql_name(table.name)} SET TBLPROPERTIES ({_pairs(pairs)})")


def _set_at(value: float | None) -> str:
    return "" if value is None else "ACCOUNT"


def _pairs(values: dict[str, str]) -> str:
    return ", ".join(f"'{name}' = '{value}'" for name, value in values.items())
