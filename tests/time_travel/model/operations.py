"""The operations of a walk: each on Spark, and in the model beside it.

In: a session on a moving clock, the arguments of an operation. Out: False where it makes no sense, as a DROP
of a name that is free; else the model is as Spark has to be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from audit.core.actor import Actor
from audit.core.clock import to_datetime
from audit.core.errors import AuditError
from audit.core.ids import IdGenerator
from audit.time_travel import errors
from audit.time_travel.attached import time_travel_of

from .promises import Promises, Rows, Schema, State, Table, schema_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.clock.moving import MovingClock

SCHEMAS = ("x", "y")
NAMES = tuple(f"{schema}.{name}" for schema in SCHEMAS for name in ("a", "b", "c"))
# How a statement reaches Spark.
PLAIN, SEMICOLON, SCRIPT, IMMEDIATE = "plain", "semicolon", "script", "immediate"


class BrokenPromise(AssertionError):
    """What was promised is out of reach, or a read gives something else."""


class Operations:
    """A world of two schemas, and what can happen in it.

    Args:
        session: audited, on the clock.
        outside: a session that is not attached.
        clock: of both, and of Delta.
        number: of the world: names in Spark have it.
    """

    def __init__(self, session: SparkSession, outside: SparkSession, clock: MovingClock, number: str) -> None:
        self.session, self.outside, self.clock, self.number = session, outside, clock, number
        self.model = Promises(clock.now())
        self.began = clock.now()
        self.checks = 0
        self._next = 0
        self._ids = IdGenerator(clock)
        for schema in SCHEMAS:
            session.sql(f"CREATE SCHEMA {self.sql(schema)}")
            self.model.schemas[schema] = Schema()

    def close(self) -> None:
        """Leave no table and no parameter behind."""
        self.set_account(None, 0)
        for schema in SCHEMAS:
            self.session.sql(f"DROP SCHEMA IF EXISTS {self.sql(schema)} CASCADE")

    # Tables come and go

    def create(self, name: str, how: str, days: int | None, transient: bool) -> bool | None:  # noqa: FBT001
        """CREATE [TRANSIENT] TABLE … [DATA_RETENTION_TIME_IN_DAYS = n] AS SELECT."""
        if not self._is_free(name) or (transient and days):
            return False
        own = "" if days is None else f" DATA_RETENTION_TIME_IN_DAYS = {days}"
        values = self._values()
        self._run(
            f"CREATE {'TRANSIENT ' * transient}TABLE {self.sql(name)}{own} AS SELECT {values[0]} AS i", how
        )
        self.model.create(name, self._written(name, values), days=days, transient=transient)
        return None

    def create_by_writer(self, name: str) -> bool | None:
        """DataFrameWriter.saveAsTable."""
        if not self._is_free(name):
            return False
        values = self._values(2)
        self._frame(values).write.saveAsTable(self.sql(name))
        self.model.create(name, self._written(name, values))
        return None

    def create_by_stream(self, name: str, source: str) -> bool | None:
        """DataStreamWriter.toTable."""
        if not self._is_free(name) or source not in self.model.tables:
            return False
        self._stream(source, name)
        self.model.create(name, self._written(name, self.model.tables[source].rows))
        return None

    def rename(self, old: str, new: str) -> bool | None:
        """ALTER TABLE … RENAME TO; Spark (4.2) renames within a schema alone."""
        if old not in self.model.tables or not self._is_free(new) or schema_of(old) != schema_of(new):
            return False
        self._run(f"ALTER TABLE {self.sql(old)} RENAME TO {self.sql(new)}")
        self.model.rename(old, new)
        return None

    def drop(self, name: str, how: str) -> bool | None:
        """DROP TABLE."""
        if name not in self.model.tables:
            return False
        self._run(f"DROP TABLE {self.sql(name)}", how)
        self.model.pass_time(self.clock.now())
        self.model.drop(name)
        return None

    def undrop(self, name: str, how: str) -> bool | None:
        """UNDROP TABLE: refused where the name is taken ("UNDROP fails"), or after its retention."""
        schema = schema_of(name)
        mine = [drop for drop in self.model.drops if drop.name == name and drop.schema is None]
        if not mine or schema not in self.model.schemas:
            return False
        self.session.sql(f"USE {self.sql(schema)}")
        run = partial(self._run, f"UNDROP TABLE {self.sql(name)}", how)
        try:
            if not self._is_free(name):
                self.refused(run, errors.ObjectExistsError)
            elif all(drop.is_gone(self.model.now) for drop in mine):
                self.refused(run, errors.NothingDroppedError)
            elif (drop := self.model.undroppable(name)) is not None:
                run()
                self.model.undrop(drop)
            else:
                return False
        finally:
            self.session.sql("USE default")
        return None

    def drop_schema(self, name: str, how: str) -> bool | None:
        """DROP SCHEMA … CASCADE."""
        if name not in self.model.schemas:
            return False
        self._run(f"DROP SCHEMA {self.sql(name)} CASCADE", how)
        self.model.pass_time(self.clock.now())
        self.model.drop_schema(name)
        return None

    def undrop_schema(self, name: str, how: str) -> bool | None:
        """UNDROP SCHEMA: with its tables. A schema past its retention is made anew, empty."""
        drops = [drop for drop in self.model.schema_drops if drop.name == name]
        if name in self.model.schemas or not drops:
            return False
        run = partial(self._run, f"UNDROP SCHEMA {self.sql(name)}", how)
        if drops[-1].is_retained(self.model.now):
            children = {drop.name for drop in self.model.drops if drop.schema is drops[-1]}
            # A view over what is gone has to wait.
            if not set(drops[-1].views.values()) <= children | self.model.tables.keys():
                return False
            run()
            self.model.undrop_schema(drops[-1])
        elif drops[-1].is_gone(self.model.now):
            self.refused(run, errors.NothingDroppedError)
            self._run(f"CREATE SCHEMA {self.sql(name)}")
            self.model.schemas[name] = Schema()
        else:
            return False
        return None

    def failsafe_restore(self, name: str) -> bool | None:
        """`audit failsafe restore` of a dropped table in Fail-safe."""
        found = [drop for drop in self.model.drops if drop.name == name and drop.schema is None]
        if not found or not self._is_free(name) or not found[-1].is_in_fail_safe(self.model.now):
            return False
        maintenance = time_travel_of(self.session).maintenance
        maintenance.fail_safe(self._actor()).restore(tuple(self.sql(name).split(".")))
        self.model.undrop(found[-1])
        return None

    # Writers

    def write(self, name: str, kind: str, how: str) -> bool | None:
        """INSERT, INSERT OVERWRITE, UPDATE, DELETE, MERGE: each makes a new state."""
        if name not in self.model.tables:
            return False
        rows, (new,), table = self.model.tables[name].rows, self._values(), self.sql(name)
        if kind in {"update", "delete", "merge"} and not rows:
            return False
        least, most = min(rows, default=0), max(rows, default=0)
        merge = (
            f"MERGE INTO {table} USING (SELECT {most} AS k UNION ALL SELECT {new}) ON i = k"
            " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (i) VALUES (k)"
        )
        text, after = {
            "insert": (f"INSERT INTO {table} VALUES ({new})", (*rows, new)),
            "overwrite": (f"INSERT OVERWRITE {table} VALUES ({new})", (new,)),
            "update": (f"UPDATE {table} SET i = i + 1000", tuple(row + 1000 for row in rows)),
            "delete": (f"DELETE FROM {table} WHERE i = {least}", tuple(row for row in rows if row != least)),
            "merge": (merge, (*(row for row in rows if row != most), new)),
            "replace": (f"CREATE OR REPLACE TABLE {table} AS SELECT {new} AS i", (new,)),
        }[kind]
        self._run(text, how)
        (self.model.replace if kind == "replace" else self.model.write)(name, self._written(name, after))
        return None

    def write_by_frame(self, name: str, kind: str) -> bool | None:
        """DataFrame writers: append, overwrite, replace; a stream appends."""
        if name not in self.model.tables:
            return False
        rows, values, table = self.model.tables[name].rows, self._values(), self.sql(name)
        if kind == "append":
            self._frame(values).write.insertInto(table)
        elif kind == "overwrite":
            self._frame(values).write.mode("overwrite").saveAsTable(table)
        else:
            self._frame(values).writeTo(table).using("delta").createOrReplace()
        written = self._written(name, (*rows, *values) if kind == "append" else values)
        (self.model.replace if kind == "replace" else self.model.write)(name, written)
        return None

    def write_by_stream(self, name: str, source: str) -> bool | None:
        """A stream appends what another table has."""
        if name == source or not {name, source} <= self.model.tables.keys():
            return False
        self._stream(source, name)
        rows = (*self.model.tables[name].rows, *self.model.tables[source].rows)
        self.model.write(name, self._written(name, rows))
        return None

    def write_outside(self, name: str) -> bool | None:
        """An INSERT of a session that is not attached."""
        if name not in self.model.tables:
            return False
        (new,) = self._values()
        self.outside.sql(f"INSERT INTO {self.sql(name)} VALUES ({new})")
        self.model.write(name, self._written(name, (*self.model.tables[name].rows, new), outside=True))
        return None

    def restore(self, name: str, back: int, how: str) -> bool | None:
        """RESTORE TABLE … TO AT (TIMESTAMP => …)."""
        found = self._past(name, back)
        if found is None or not back:
            return False
        state, point = found
        text = f"RESTORE TABLE {self.sql(name)} TO {point}"
        if self._is_beyond(name, state):
            self.refused(lambda: self._run(text, how), errors.OutsideRetentionError)
            return None
        self._run(text, how)
        self.model.write(name, self._written(name, state.rows))
        return None

    def restore_by_api(self, name: str, back: int) -> bool | None:
        """DeltaTable.restoreToVersion obeys the same retention."""
        table = self.model.tables.get(name)
        if table is None or not 0 < back < len(table.states):
            return False
        state = table.states[-1 - back]
        # Delta restores no version that has the same files as the current one.
        if self._is_beyond_kept(table, state) is None or state.rows == table.rows:
            return False
        run = partial(self._delta(name).restoreToVersion, state.version)
        if self._is_beyond_kept(table, state):
            self.refused(run, errors.OutsideRetentionError)
            return None
        run()
        self.model.write(name, self._written(name, state.rows))
        return None

    def optimize(self, name: str) -> bool | None:
        """OPTIMIZE removes small files, and changes no row."""
        if name not in self.model.tables:
            return False
        self._run(f"OPTIMIZE {self.sql(name)}")
        return None

    # Clones

    def clone(self, name: str, source: str, back: int, kind: str, how: str) -> bool | None:
        """CREATE [OR REPLACE] TABLE … [DEEP] CLONE … AT (TIMESTAMP => …)."""
        found, replaces = self._past(source, back), name in self.model.tables
        if found is None or name == source or not (replaces or self._is_free(name)):
            return False
        state, point = found
        text = (
            f"CREATE {'OR REPLACE ' * replaces}TABLE {self.sql(name)} {kind} {self.sql(source)}"
            f" {point if back else ''}"
        )
        if back and self._is_beyond(source, state):
            self.refused(lambda: self._run(text, how), errors.OutsideRetentionError)
            return None
        self._run(text, how)
        self._cloned(name, source, state)
        return None

    def clone_by_api(self, name: str, source: str, back: int) -> bool | None:
        """DeltaTable.cloneAtVersion: the clone's files are kept, too."""
        of = self.model.tables.get(source)
        if of is None or back >= len(of.states) or not self._is_free(name):
            return False
        state = of.states[-1 - back]
        if self._is_beyond_kept(of, state) is not False:
            return False
        self._delta(source).cloneAtVersion(state.version, self.sql(name), isShallow=True)
        self._cloned(name, source, state)
        return None

    def _cloned(self, name: str, source: str, state: State) -> None:
        made, of = self._written(name, state.rows), self.model.tables[source]
        if name in self.model.tables:
            self.model.replace(name, made, transient=of.transient)
        else:
            self.model.create(name, made, days=of.days, transient=of.transient)

    def recover(self, name: str, source: str, back: int) -> bool | None:
        """`audit failsafe restore --at` makes a table of what has left Time Travel."""
        table = self.model.tables.get(source)
        if table is None or back >= len(table.states) or not self._is_free(name):
            return False
        state = table.states[-1 - back]
        if not self.model.is_recoverable(table, state):
            return False
        moment = table.moments(state, self.model.now)[1]
        old, new = (tuple(self.sql(one).split(".")) for one in (source, name))
        time_travel_of(self.session).maintenance.fail_safe(self._actor()).restore_version(old, moment, new)
        self._cloned(name, source, state)
        return None

    # Views

    def create_view(self, name: str, table: str, form: str) -> bool | None:
        """A view: "if you put one after a view, each table below the view is read at that point"."""
        if not self._is_free(name) or table not in self.model.tables:
            return False
        below, own = self.sql(table), table.partition(".")[2]
        text = {
            "plain": f"SELECT i FROM {below}",
            "cte": f"WITH {own} AS (SELECT i FROM {below}) SELECT i FROM {own}",
            "hint": f"SELECT /*+ REPARTITION(1) */ i FROM {below}",
            "table": f"TABLE {below}",
        }[form]
        self._run(f"CREATE VIEW {self.sql(name)} AS {text}")
        self.model.views[name] = table
        return None

    def drop_view(self, name: str) -> bool | None:
        """DROP VIEW."""
        if name not in self.model.views:
            return False
        self._run(f"DROP VIEW {self.sql(name)}")
        del self.model.views[name]
        return None

    # Retention

    def set_table(self, name: str, days: int | None, how: str) -> bool | None:
        """ALTER TABLE … SET | UNSET DATA_RETENTION_TIME_IN_DAYS."""
        table = self.model.tables.get(name)
        if table is None or (table.transient and (days or 0) > 1):
            return False
        self._set(f"TABLE {self.sql(name)}", "DATA_RETENTION_TIME_IN_DAYS", days, how)
        table.days = days
        self.model.pass_time(self.clock.now())
        return None

    def set_schema(self, name: str, days: int | None, how: str) -> bool | None:
        """ALTER SCHEMA … SET: tables without an explicit period "inherit the new retention period"."""
        if name not in self.model.schemas:
            return False
        self._set(f"SCHEMA {self.sql(name)}", "DATA_RETENTION_TIME_IN_DAYS", days, how)
        self.model.schemas[name].days = days
        self.model.pass_time(self.clock.now())
        return None

    def set_account(self, days: int | None, minimum: int) -> bool | None:
        """ALTER ACCOUNT SET | UNSET: what has no explicit period "inherits the new retention period"."""
        if (days, minimum) == (self.model.account, self.model.minimum):
            return False
        if days != self.model.account:
            self._set("ACCOUNT", "DATA_RETENTION_TIME_IN_DAYS", days)
            self.model.account = days
            self.model.pass_time(self.clock.now())
        if minimum != self.model.minimum:
            self._set("ACCOUNT", "MIN_DATA_RETENTION_TIME_IN_DAYS", minimum or None)
            self.model.minimum = minimum
            self.model.pass_time(self.clock.now())
        return None

    def set_by_hand(self, name: str) -> bool | None:
        """Somebody sets Delta's own property: what is retained stays, whoever runs VACUUM."""
        if name not in self.model.tables:
            return False
        try:
            self._run(
                f"ALTER TABLE {self.sql(name)} SET TBLPROPERTIES ("
                "'delta.deletedFileRetentionDuration' = 'interval 1 hours', 'delta.logRetentionDuration' ="
                " 'interval 1 hours')"
            )
        except AuditError:
            self.checks += 1  # to refuse it is another way to keep the promise
        return None

    def days_pass(self, days: float) -> None:
        """Time passes."""
        self.clock.advance(days=days)

    # What deletes files

    def vacuum(self, name: str, where: str) -> bool | None:
        """A VACUUM, from here or from elsewhere, "keeps what is retained, and Fail-safe's seven days"."""
        if name not in self.model.tables:
            return False
        (self.outside if where == "outside" else self.session).sql(f"VACUUM {self.sql(name)}")
        return None

    def purge(self) -> None:
        """`audit purge` "deletes what is past both periods and what no clone needs"."""
        list(time_travel_of(self.session).maintenance.purge(self._actor(), dry=False))

    # Means

    def _run(self, text: str, how: str = PLAIN) -> None:
        if how == SEMICOLON:
            text += ";"
        elif how == SCRIPT:
            text = f"BEGIN\n  {text};\nEND"
        elif how == IMMEDIATE:
            escaped = text.replace("'", "\\'")
            text = f"EXECUTE IMMEDIATE '{escaped}'"
        self.session.sql(text)

    def refused(self, run: Callable[[], object], error: type[AuditError], what: str = "it") -> None:
        """Run what has to be refused."""
        self.checks += 1
        try:
            run()
        except error:
            return
        except Exception as other:
            # What an error of ours becomes on its way through a script of Spark's.
            if error.code in str(other):
                return
            raise BrokenPromise(f"{what} is refused by {other!r:.600}, instead of {error.code}") from other
        raise BrokenPromise(f"{what} is not refused, instead of {error.code}")

    def _set(self, of: str, parameter: str, days: int | None, how: str = PLAIN) -> None:
        self._run(
            f"ALTER {of} " + (f"UNSET {parameter}" if days is None else f"SET {parameter} = {days}"), how
        )

    def _values(self, count: int = 1) -> Rows:
        self._next += count
        return tuple(range(self._next - count, self._next))

    def _frame(self, values: Rows) -> Any:
        return self.session.range(values[0], values[-1] + 1, numPartitions=1).selectExpr(
            "CAST(id AS INT) AS i"
        )

    def _stream(self, source: str, target: str) -> None:
        place = Path(self._folder(source)).parent / f"checkpoint-{self.number}-{self._next}-{target}"
        self._next += 1
        self.session.readStream.table(self.sql(source)).writeStream.option(
            "checkpointLocation", str(place)
        ).trigger(availableNow=True).toTable(self.sql(target)).awaitTermination()

    def _written(self, name: str, rows: Sequence[int], *, outside: bool = False) -> State:
        """The state that an operation has made: the newest version in the log, and who wrote it."""
        versions = sorted(Path(self._folder(name), "_delta_log").glob("[0-9]*.json"))
        query_id = None
        if not outside:
            # A statement may commit twice, and a commit of properties has its id, too.
            info = json.loads(versions[-1].read_text().splitlines()[0]).get("commitInfo", {})
            query_id = info.get("userMetadata")
        before = self.model.tables.get(name)
        if before is not None and query_id in {state.query_id for state in before.states}:
            query_id = None  # it has changed nothing, and made no commit
        return State(self.began, self.clock.now(), tuple(sorted(rows)), int(versions[-1].stem), query_id)

    def _folder(self, name: str) -> str:
        table = time_travel_of(self.session).maintenance.catalog.find(tuple(self.sql(name).split(".")))
        return str(table.location).removeprefix("file:")

    def _past(self, name: str, back: int) -> tuple[State, str] | None:
        """A state so many states back, and the clause for it; None where it may be there or not."""
        table = self.model.tables.get(name)
        if table is None or back >= len(table.states):
            return None
        state = table.states[-1 - back]
        moment = table.moments(state, self.model.now)[1]
        if not back or self.model.is_promised(table, moment) or self.model.is_refused(table, moment):
            return state, f"AT ({timestamp(moment)})"
        return None

    def _is_beyond(self, name: str, state: State) -> bool:
        table = self.model.tables[name]
        return self.model.is_refused(table, table.moments(state, self.model.now)[1])

    def _is_beyond_kept(self, table: Table, state: State) -> bool | None:
        """Whether the version of a state has left Time Travel; None where that is not sure."""
        replaced = table.next_of(state)
        if self.model.is_promised(table, state.began):
            return False
        return True if replaced is not None and self.model.is_refused(table, replaced.time) else None

    def _delta(self, name: str) -> Any:
        from delta.tables import DeltaTable

        return DeltaTable.forName(self.session, self.sql(name))

    def _is_free(self, name: str) -> bool:
        return (
            schema_of(name) in self.model.schemas
            and name not in self.model.tables
            and name not in self.model.views
        )

    def sql(self, name: str) -> str:
        """`x.a` of this world in Spark."""
        schema, dot, table = name.partition(".")
        return f"model_{self.number}_{schema}{dot}{table}"

    def _actor(self) -> Actor:
        return Actor(self.clock.now(), "root", None, self._ids.new)


def timestamp(moment: int) -> str:
    """The argument of AT for a moment."""
    return f"TIMESTAMP => '{to_datetime(moment):%F %T.%f}+00:00'"
