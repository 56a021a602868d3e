"""What Time Travel promises, as a model: names, rows over time, retention. It knows neither Spark nor Delta.

In: operations, one at a time. Out: which state each table had at which moment, and whether it can be read.
The rule of the document (docs/time-travel.md, Snowflake's and BigQuery's pages) stands beside each operation.
A table is `schema.name`, a moment UTC microseconds, a period whole days.
"""

from __future__ import annotations

from dataclasses import dataclass, field

MINUTE = 60_000_000
DAY = 1440 * MINUTE
FAIL_SAFE = 7
"""Days: "deleted data is automatically retained for an additional seven days"."""
# The clock runs on during an operation: so close to the end of a period nothing is promised.
MARGIN = 20 * MINUTE

Rows = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """The rows of a table from a moment on.

    Attributes:
        began: when the operation that made them began.
        time: when it had ended.
        rows: sorted.
        version: of Delta's log, when the operation had ended.
        query_id: of the statement that wrote them; None for one of a session that is not attached.
    """

    began: int
    time: int
    rows: Rows
    version: int
    query_id: str | None


@dataclass(eq=False)
class Table:
    """A table, whatever its name is.

    Attributes:
        states: oldest first.
        days: its own DATA_RETENTION_TIME_IN_DAYS.
        transient: "for transient tables, the retention period can be set to 0" or 1.
        periods: since when which period was in force, in days.
    """

    states: list[State]
    days: int | None = None
    transient: bool = False
    periods: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rows(self) -> Rows:
        """The rows now."""
        return self.states[-1].rows

    def next_of(self, state: State) -> State | None:
        """What replaced a state; None for the current one."""
        later = self.states[self.states.index(state) + 1 :]
        return later[0] if later else None

    def moments(self, state: State, now: int) -> tuple[int, int]:
        """The first and the last moment at which a state was the current one."""
        replaced = self.next_of(state)
        return state.time + MINUTE, (now if replaced is None else replaced.began) - MINUTE

    def horizon(self, at: int) -> int:
        """What was replaced before has left Time Travel.

        "If the data falls outside the new period, it moves into Fail-safe"; a longer one "doesn't apply
        to any data that … has already moved into Fail-safe".
        """
        ends = [*(since for since, _ in self.periods[1:]), at]
        begun = [
            (min(end, at), days) for (since, days), end in zip(self.periods, ends, strict=True) if since <= at
        ]
        return max((end - days * DAY for end, days in begun), default=0)

    def kept_horizon(self, at: int) -> int:
        """What was replaced before has left Fail-safe, too; transient tables have none."""
        return self.horizon(at - (0 if self.transient else FAIL_SAFE) * DAY)


@dataclass(eq=False)
class Drop:
    """A table that was dropped.

    Attributes:
        name: at the drop.
        table: the table.
        time: of the drop.
        days: "A dropped object keeps the retention that it had when it was dropped".
        fail_safe: days after that.
        schema: the drop of the schema that it went with.
    """

    name: str
    table: Table
    time: int
    days: int
    fail_safe: int
    schema: SchemaDrop | None = None

    def is_retained(self, now: int) -> bool:
        """Whether UNDROP has to restore it."""
        return now < self.time + self.days * DAY - MARGIN

    def is_gone(self, now: int) -> bool:
        """Whether UNDROP has to refuse it."""
        return now > self.time + self.days * DAY + MARGIN

    def is_in_fail_safe(self, now: int) -> bool:
        """Whether `audit failsafe restore` has to recover it."""
        return self.is_gone(now) and now < self.time + (self.days + self.fail_safe) * DAY - MARGIN


@dataclass(eq=False)
class SchemaDrop:
    """A schema that was dropped; its tables are `Drop`s of it, its views come back with it."""

    name: str
    schema: Schema
    time: int
    days: int
    views: dict[str, str]

    is_retained = Drop.is_retained
    is_gone = Drop.is_gone


@dataclass(eq=False)
class Schema:
    """A schema, with its own DATA_RETENTION_TIME_IN_DAYS."""

    days: int | None = None


@dataclass
class Promises:
    """All names, and what was dropped.

    Attributes:
        now: the time.
        schemas, tables, views: what has a name; a view reads the table of a name.
        drops, schema_drops: oldest first.
        account, minimum: parameters of the account.
    """

    now: int
    schemas: dict[str, Schema] = field(default_factory=dict)
    tables: dict[str, Table] = field(default_factory=dict)
    views: dict[str, str] = field(default_factory=dict)
    drops: list[Drop] = field(default_factory=list)
    schema_drops: list[SchemaDrop] = field(default_factory=list)
    account: int | None = None
    minimum: int = 0

    def period(self, name: str) -> int:
        """The days of a table, inherited: "MAX(DATA_RETENTION_TIME_IN_DAYS, MIN_DATA_RETENTION_…)"."""
        table = self.tables[name]
        return self._in_force(table.days, self.schemas[schema_of(name)], transient=table.transient)

    def _in_force(self, own: int | None, schema: Schema, *, transient: bool = False) -> int:
        given = next((days for days in (own, schema.days, self.account) if days is not None), 1)
        days = max(given, self.minimum)
        return min(days, 1) if transient else days

    def pass_time(self, now: int) -> None:
        """Time passes, or a period has changed."""
        self.now = now
        for name, table in self.tables.items():
            days = self.period(name)
            if table.periods[-1][1] != days:
                table.periods.append((now, days))

    def is_promised(self, table: Table, moment: int) -> bool:
        """Whether a moment, or a statement of that moment, is within retention."""
        return moment > table.horizon(self.now) + MARGIN

    def is_refused(self, table: Table, moment: int) -> bool:
        """Whether the moment "falls outside the data retention period": "the query fails"."""
        return moment < table.horizon(self.now) - MARGIN

    def is_recoverable(self, table: Table, state: State) -> bool:
        """Whether it is in Fail-safe: the administrator can recover it."""
        replaced = table.next_of(state)
        return (
            replaced is not None
            and replaced.time < table.horizon(self.now) - MARGIN
            and replaced.began > table.kept_horizon(self.now) + MARGIN
        )

    def create(self, name: str, state: State, *, days: int | None = None, transient: bool = False) -> None:
        """A new table, or a clone: "a new object", whose past begins now."""
        self.tables[name] = Table([state], days, transient)
        self.tables[name].periods.append((state.began, self.period(name)))

    def write(self, name: str, state: State) -> None:
        """Any write, REPLACE and RESTORE too: "the previous contents of the table are retained"."""
        self.tables[name].states.append(state)

    def replace(self, name: str, state: State, *, transient: bool = False) -> None:
        """A REPLACE: the statement says whether the table is transient, a clone is what its source is."""
        self.write(name, state)
        self.tables[name].transient = transient
        self.pass_time(self.now)

    def rename(self, old: str, new: str) -> None:
        """A table keeps its past under another name."""
        self.tables[new] = self.tables.pop(old)

    def drop(self, name: str) -> None:
        """A DROP: "it is retained for the data retention period for the object"."""
        days = self.period(name)
        table = self.tables.pop(name)
        self.drops.append(Drop(name, table, self.now, days, 0 if table.transient else FAIL_SAFE))

    def undroppable(self, name: str) -> Drop | None:
        """The newest drop of a name that is retained: of a table by itself, not with its schema."""
        found = [drop for drop in self.drops if drop.name == name and drop.schema is None]
        found = [drop for drop in found if not drop.is_gone(self.now)]
        return found[-1] if found and found[-1].is_retained(self.now) else None

    def undrop(self, drop: Drop) -> None:
        """In place, with all its versions: "its most recent state before the DROP command"."""
        self.drops.remove(drop)
        # "To change the period of a dropped object, you must undrop it": until now its period was that of the
        # drop, as `periods` has it.
        self.tables[drop.name] = drop.table

    def drop_schema(self, name: str) -> None:
        """DROP SCHEMA: the period of child tables "is not honored", they are kept as long as the schema."""
        schema = self.schemas.pop(name)
        views = {view: table for view, table in self.views.items() if schema_of(view) == name}
        gone = SchemaDrop(name, schema, self.now, self._in_force(None, schema), views)
        self.schema_drops.append(gone)
        for table_name in [one for one in self.tables if schema_of(one) == name]:
            table = self.tables.pop(table_name)
            days, fail_safe = (min(gone.days, 1), 0) if table.transient else (gone.days, FAIL_SAFE)
            self.drops.append(Drop(table_name, table, self.now, days, fail_safe, gone))
        self.views = {view: table for view, table in self.views.items() if view not in views}

    def undrop_schema(self, drop: SchemaDrop) -> None:
        """With its tables; those dropped before it are not among them."""
        self.schema_drops.remove(drop)
        self.schemas[drop.name] = drop.schema
        self.views |= drop.views
        for child in [one for one in self.drops if one.schema is drop]:
            self.drops.remove(child)
            self.tables[child.name] = child.table

    def listed(self, schema: str) -> tuple[set[str], list[str], list[str]]:
        """SHOW TABLES HISTORY: existing tables, the drops that it must list, and those that it may list."""
        of_schema = [d for d in self.drops if schema_of(d.name) == schema and d.schema is None]
        must = [d.name for d in of_schema if d.is_retained(self.now)]
        may = [d.name for d in of_schema if not d.is_gone(self.now)]
        return {name for name in self.tables if schema_of(name) == schema}, must, may


def schema_of(name: str) -> str:
    """The schema of a name.

    >>> schema_of("x.a")
    'x'
    """
    return name.partition(".")[0]
