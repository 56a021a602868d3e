"""Random operations on Spark, each beside the model, and the reads that compare the two.

In: a session on a moving clock, steps. Out: nothing, or `BrokenPromise` with what was promised. A step is the
name of an operation and its arguments; where it makes no sense, as a DROP of a name that is free, it does
nothing. So any part of a walk is a walk, and a failing one can be cut down to its shortest form (`shortest`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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

Step = tuple[Any, ...]
SCHEMAS = ("x", "y")
NAMES = tuple(f"{schema}.{name}" for schema in SCHEMAS for name in ("a", "b", "c"))
# How a statement reaches Spark.
PLAIN, SEMICOLON, SCRIPT, IMMEDIATE = "plain", "semicolon", "script", "immediate"


class BrokenPromise(AssertionError):
    """What was promised is out of reach, or a read gives something else."""


@dataclass(frozen=True)
class Read:
    """A read that is promised: of a table or view, with a clause, and the rows that it has to give."""

    name: str
    clause: str
    rows: Rows

    def __str__(self) -> str:
        return f"{self.name} {self.clause}"


class Walk:
    """A world of two schemas, and what happens in it.

    Args:
        session: audited, on the clock.
        outside: a session that is not attached.
        clock: of both, and of Delta.
        number: of the world: names in Spark end in it.
        seed: chooses what is read after a step.
    """

    def __init__(
        self, session: SparkSession, outside: SparkSession, clock: MovingClock, number: str, seed: object = 0
    ) -> None:
        self.session, self.outside, self.clock, self.number = session, outside, clock, number
        self.model = Promises(clock.now())
        self.pick = random.Random(f"{number} {seed}")  # noqa: S311  which read is no secret
        self.checks = 0
        self._next = 0
        self._began = clock.now()
        self._ids = IdGenerator(clock)
        for schema in SCHEMAS:
            session.sql(f"CREATE SCHEMA {self._sql(schema)}")
            self.model.schemas[schema] = Schema()

    def close(self) -> None:
        """Leave no table and no parameter behind."""
        self.unset_account()
        for schema in SCHEMAS:
            self.session.sql(f"DROP SCHEMA IF EXISTS {self._sql(schema)} CASCADE")

    def take(self, step: Step, *, all_reads: bool = False) -> bool:
        """One step, and the reads after it; False where the step makes no sense."""
        name, *arguments = step
        self._began = self.clock.now()
        if getattr(self, name)(*arguments) is False:
            return False
        # Half an hour to the next step, so that each moment has one state.
        self.clock.advance(seconds=1800)
        self.model.pass_time(self.clock.now())
        self.compare(all_reads=all_reads or name in {"days_pass", "vacuum", "purge"})
        return True

    # Tables come and go

    def create(self, name: str, how: str, days: int | None, transient: bool) -> bool | None:  # noqa: FBT001
        """CREATE [TRANSIENT] TABLE … [DATA_RETENTION_TIME_IN_DAYS = n] AS SELECT."""
        if not self._is_free(name) or (transient and days):
            return False
        own = "" if days is None else f" DATA_RETENTION_TIME_IN_DAYS = {days}"
        values = self._values()
        self._run(
            f"CREATE {'TRANSIENT ' * transient}TABLE {self._sql(name)}{own} AS SELECT {values[0]} AS i", how
        )
        self.model.create(name, self._written(name, values), days=days, transient=transient)
        return None

    def create_by_writer(self, name: str) -> bool | None:
        """DataFrameWriter.saveAsTable."""
        if not self._is_free(name):
            return False
        values = self._values(2)
        self._frame(values).write.saveAsTable(self._sql(name))
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
        self._run(f"ALTER TABLE {self._sql(old)} RENAME TO {self._sql(new)}")
        self.model.rename(old, new)
        return None

    def drop(self, name: str, how: str) -> bool | None:
        """DROP TABLE."""
        if name not in self.model.tables:
            return False
        self._run(f"DROP TABLE {self._sql(name)}", how)
        self.model.pass_time(self.clock.now())
        self.model.drop(name)
        return None

    def undrop(self, name: str, how: str) -> bool | None:
        """UNDROP TABLE: refused where the name is taken ("UNDROP fails"), or after its retention."""
        schema = schema_of(name)
        mine = [drop for drop in self.model.drops if drop.name == name and drop.schema is None]
        if not mine or schema not in self.model.schemas:
            return False
        self.session.sql(f"USE {self._sql(schema)}")
        run = partial(self._run, f"UNDROP TABLE {self._sql(name)}", how)
        try:
            if not self._is_free(name):
                self._refused(run, errors.ObjectExistsError)
            elif all(drop.is_gone(self.model.now) for drop in mine):
                self._refused(run, errors.NothingDroppedError)
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
        self._run(f"DROP SCHEMA {self._sql(name)} CASCADE", how)
        self.model.pass_time(self.clock.now())
        self.model.drop_schema(name)
        return None

    def undrop_schema(self, name: str, how: str) -> bool | None:
        """UNDROP SCHEMA: with its tables. A schema past its retention is made anew, empty."""
        drops = [drop for drop in self.model.schema_drops if drop.name == name]
        if name in self.model.schemas or not drops:
            return False
        run = partial(self._run, f"UNDROP SCHEMA {self._sql(name)}", how)
        if drops[-1].is_retained(self.model.now):
            children = {drop.name for drop in self.model.drops if drop.schema is drops[-1]}
            # A view over what is gone has to wait.
            if not set(drops[-1].views.values()) <= children | self.model.tables.keys():
                return False
            run()
            self.model.undrop_schema(drops[-1])
        elif drops[-1].is_gone(self.model.now):
            self._refused(run, errors.NothingDroppedError)
            self._run(f"CREATE SCHEMA {self._sql(name)}")
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
        maintenance.fail_safe(self._actor()).restore(tuple(self._sql(name).split(".")))
        self.model.undrop(found[-1])
        return None

    # Writers

    def write(self, name: str, kind: str, how: str) -> bool | None:
        """INSERT, INSERT OVERWRITE, UPDATE, DELETE, MERGE: each makes a new state."""
        if name not in self.model.tables:
            return False
        rows, (new,), table = self.model.tables[name].rows, self._values(), self._sql(name)
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
        self.model.write(name, self._written(name, after))
        return None

    def write_by_frame(self, name: str, kind: str) -> bool | None:
        """DataFrame writers: append, overwrite, replace; a stream appends."""
        if name not in self.model.tables:
            return False
        rows, values, table = self.model.tables[name].rows, self._values(), self._sql(name)
        if kind == "append":
            self._frame(values).write.insertInto(table)
        elif kind == "overwrite":
            self._frame(values).write.mode("overwrite").saveAsTable(table)
        else:
            self._frame(values).writeTo(table).using("delta").createOrReplace()
        self.model.write(name, self._written(name, (*rows, *values) if kind == "append" else values))
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
        self.outside.sql(f"INSERT INTO {self._sql(name)} VALUES ({new})")
        self.model.write(name, self._written(name, (*self.model.tables[name].rows, new), outside=True))
        return None

    def restore(self, name: str, back: int, how: str) -> bool | None:
        """RESTORE TABLE … TO AT (TIMESTAMP => …)."""
        found = self._past(name, back)
        if found is None or not back:
            return False
        state, point = found
        text = f"RESTORE TABLE {self._sql(name)} TO {point}"
        if self._is_beyond(name, state):
            self._refused(lambda: self._run(text, how), errors.OutsideRetentionError)
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
            self._refused(run, errors.OutsideRetentionError)
            return None
        run()
        self.model.write(name, self._written(name, state.rows))
        return None

    def optimize(self, name: str) -> bool | None:
        """OPTIMIZE removes small files, and changes no row."""
        if name not in self.model.tables:
            return False
        self._run(f"OPTIMIZE {self._sql(name)}")
        return None

    # Clones

    def clone(self, name: str, source: str, back: int, kind: str, how: str) -> bool | None:
        """CREATE [OR REPLACE] TABLE … [DEEP] CLONE … AT (TIMESTAMP => …)."""
        found, replaces = self._past(source, back), name in self.model.tables
        if found is None or name == source or not (replaces or self._is_free(name)):
            return False
        state, point = found
        text = (
            f"CREATE {'OR REPLACE ' * replaces}TABLE {self._sql(name)} {kind} {self._sql(source)}"
            f" {point if back else ''}"
        )
        if back and self._is_beyond(source, state):
            self._refused(lambda: self._run(text, how), errors.OutsideRetentionError)
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
        self._delta(source).cloneAtVersion(state.version, self._sql(name), isShallow=True)
        self._cloned(name, source, state)
        return None

    def _cloned(self, name: str, source: str, state: State) -> None:
        made, of = self._written(name, state.rows), self.model.tables[source]
        if name in self.model.tables:
            self.model.write(name, made)
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
        old, new = (tuple(self._sql(one).split(".")) for one in (source, name))
        time_travel_of(self.session).maintenance.fail_safe(self._actor()).restore_version(old, moment, new)
        self._cloned(name, source, state)
        return None

    # Views

    def create_view(self, name: str, table: str, form: str) -> bool | None:
        """A view: "if you put one after a view, each table below the view is read at that point"."""
        if not self._is_free(name) or table not in self.model.tables:
            return False
        below, own = self._sql(table), table.partition(".")[2]
        text = {
            "plain": f"SELECT i FROM {below}",
            "cte": f"WITH {own} AS (SELECT i FROM {below}) SELECT i FROM {own}",
            "hint": f"SELECT /*+ REPARTITION(1) */ i FROM {below}",
            "table": f"TABLE {below}",
        }[form]
        self._run(f"CREATE VIEW {self._sql(name)} AS {text}")
        self.model.views[name] = table
        return None

    def drop_view(self, name: str) -> bool | None:
        """DROP VIEW."""
        if name not in self.model.views:
            return False
        self._run(f"DROP VIEW {self._sql(name)}")
        del self.model.views[name]
        return None

    # Retention

    def set_table(self, name: str, days: int | None, how: str) -> bool | None:
        """ALTER TABLE … SET | UNSET DATA_RETENTION_TIME_IN_DAYS."""
        table = self.model.tables.get(name)
        if table is None or (table.transient and (days or 0) > 1):
            return False
        self._set(f"TABLE {self._sql(name)}", "DATA_RETENTION_TIME_IN_DAYS", days, how)
        table.days = days
        return None

    def set_schema(self, name: str, days: int | None, how: str) -> bool | None:
        """ALTER SCHEMA … SET: tables without an explicit period "inherit the new retention period"."""
        if name not in self.model.schemas:
            return False
        self._set(f"SCHEMA {self._sql(name)}", "DATA_RETENTION_TIME_IN_DAYS", days, how)
        self.model.schemas[name].days = days
        return None

    def set_account(self, days: int, minimum: int) -> None:
        """ALTER ACCOUNT SET both parameters."""
        self._set("ACCOUNT", "DATA_RETENTION_TIME_IN_DAYS", days)
        self._set("ACCOUNT", "MIN_DATA_RETENTION_TIME_IN_DAYS", minimum)
        self.model.account, self.model.minimum = days, minimum

    def unset_account(self) -> bool | None:
        """The defaults again."""
        if self.model.account is None:
            return False
        self._set("ACCOUNT", "DATA_RETENTION_TIME_IN_DAYS", None)
        self._set("ACCOUNT", "MIN_DATA_RETENTION_TIME_IN_DAYS", None)
        self.model.account, self.model.minimum = None, 0
        return None

    def set_by_hand(self, name: str) -> bool | None:
        """Somebody sets Delta's own property: what is retained stays, whoever runs VACUUM."""
        if name not in self.model.tables:
            return False
        try:
            self._run(
                f"ALTER TABLE {self._sql(name)} SET TBLPROPERTIES ("
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
        (self.outside if where == "outside" else self.session).sql(f"VACUUM {self._sql(name)}")
        return None

    def purge(self) -> None:
        """`audit purge` "deletes what is past both periods and what no clone needs"."""
        list(time_travel_of(self.session).maintenance.purge(self._actor(), dry=False))

    # What is promised

    def compare(self, *, all_reads: bool) -> None:
        """Make the promised reads in one query, those that must be refused, and SHOW TABLES HISTORY."""
        reads = list(self._promised(all_reads=all_reads))
        if reads:
            self._compare_reads(reads)
        self._compare_refusals()
        if all_reads:
            for schema in self.model.schemas:
                self._compare_history(schema)

    def _promised(self, *, all_reads: bool) -> Iterator[Read]:
        for name, table in self.model.tables.items():
            yield Read(name, "", table.rows)
            states = table.states if all_reads else self.pick.sample(table.states, min(2, len(table.states)))
            for state in states:
                clauses = list(self._clauses(table, state))
                if clauses:
                    yield Read(name, self.pick.choice(clauses), state.rows)
        for view, name in self.model.views.items():
            below = self.model.tables.get(name)
            if below is not None:
                state = self.pick.choice(below.states)
                for moment in below.moments(state, self.model.now):
                    if self.model.is_promised(below, moment):
                        yield Read(view, f"AT ({_timestamp(moment)})", state.rows)

    def _clauses(self, table: Table, state: State) -> Iterator[str]:
        """All ways to ask for a state that are promised."""
        for moment in table.moments(state, self.model.now):
            if self.model.is_promised(table, moment):
                yield f"AT ({_timestamp(moment)})"
                yield f"AT (OFFSET => -{(self.clock.now() - moment) // 1_000_000})"
        if self.model.is_promised(table, state.began):
            yield f"VERSION AS OF {state.version}"
            if state.query_id is not None:
                yield f"AT (STATEMENT => '{state.query_id}')"
        replaced = table.next_of(state)
        if replaced is not None and replaced.query_id and self.model.is_promised(table, replaced.began):
            yield f"BEFORE (STATEMENT => '{replaced.query_id}')"

    def _compare_reads(self, reads: Sequence[Read]) -> None:
        texts = [
            f"SELECT {number} AS k, i FROM {self._sql(read.name)} {read.clause}"
            for number, read in enumerate(reads)
        ]
        self.checks += len(reads)
        try:
            found = self.session.sql(" UNION ALL ".join(texts)).collect()
        except Exception:
            # One of them: which one?
            for read, text in zip(reads, texts, strict=True):
                try:
                    self.session.sql(text).collect()
                except Exception as error:  # noqa: PERF203  one read at a time
                    raise BrokenPromise(f"{read} is out of reach: {str(error)[:600]}") from error
            raise
        for number, read in enumerate(reads):
            rows = tuple(sorted(row.i for row in found if row.k == number))
            if rows != tuple(sorted(read.rows)):
                raise BrokenPromise(f"{read} gives {rows} instead of {read.rows}")

    def _compare_refusals(self) -> None:
        """One moment beyond retention; its rows may be there still, and nobody may read them."""
        found = [
            (name, moment)
            for name, table in self.model.tables.items()
            for state in table.states
            for moment in table.moments(state, self.model.now)
            if self.model.is_refused(table, moment)
        ]
        if found:
            name, moment = self.pick.choice(found)
            text = f"SELECT * FROM {self._sql(name)} AT ({_timestamp(moment)})"
            self._refused(lambda: self.session.sql(text), errors.OutsideRetentionError)

    def _compare_history(self, schema: str) -> None:
        there, must, may = self.model.listed(schema)
        rows = self.session.sql(f"SHOW TABLES HISTORY IN {self._sql(schema)}").collect()
        self.checks += 1
        alive = {f"{schema}.{row['name']}" for row in rows if row["dropped_on"] is None}
        gone = [f"{schema}.{row['name']}" for row in rows if row["dropped_on"] is not None]
        if alive != there:
            raise BrokenPromise(f"SHOW TABLES HISTORY has {sorted(alive)} instead of {sorted(there)}")
        for name in NAMES:
            if not must.count(name) <= gone.count(name) <= may.count(name):
                raise BrokenPromise(f"SHOW TABLES HISTORY lists {gone} as dropped, and should list {must}")

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

    def _refused(self, run: Callable[[], object], error: type[AuditError]) -> None:
        self.checks += 1
        try:
            run()
        except error:
            return
        except Exception as other:
            # What an error of ours becomes on its way through a script of Spark's.
            if error.code in str(other):
                return
            raise BrokenPromise(f"refused by {other!r:.600}, instead of {error.code}") from other
        raise BrokenPromise(f"not refused, instead of {error.code}")

    def _set(self, of: str, parameter: str, days: int | None, how: str = PLAIN) -> None:
        self._run(
            f"ALTER {of} " + (f"UNSET {parameter}" if days is None else f"SET {parameter} = {days}"), how
        )
        # The shorter or longer period counts from now: what has left by now has left.
        self.model.pass_time(self.clock.now())

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
        self.session.readStream.table(self._sql(source)).writeStream.option(
            "checkpointLocation", str(place)
        ).trigger(availableNow=True).toTable(self._sql(target)).awaitTermination()

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
        return State(self._began, self.clock.now(), tuple(sorted(rows)), int(versions[-1].stem), query_id)

    def _folder(self, name: str) -> str:
        table = time_travel_of(self.session).maintenance.catalog.find(tuple(self._sql(name).split(".")))
        return str(table.location).removeprefix("file:")

    def _past(self, name: str, back: int) -> tuple[State, str] | None:
        """A state so many states back, and the clause for it; None where it may be there or not."""
        table = self.model.tables.get(name)
        if table is None or back >= len(table.states):
            return None
        state = table.states[-1 - back]
        moment = table.moments(state, self.model.now)[1]
        if not back or self.model.is_promised(table, moment) or self.model.is_refused(table, moment):
            return state, f"AT ({_timestamp(moment)})"
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

        return DeltaTable.forName(self.session, self._sql(name))

    def _is_free(self, name: str) -> bool:
        return (
            schema_of(name) in self.model.schemas
            and name not in self.model.tables
            and name not in self.model.views
        )

    def _sql(self, name: str) -> str:
        """`x.a` of this world in Spark."""
        schema, dot, table = name.partition(".")
        return f"model_{self.number}_{schema}{dot}{table}"

    def _actor(self) -> Actor:
        return Actor(self.clock.now(), "root", None, self._ids.new)


def _timestamp(moment: int) -> str:
    return f"TIMESTAMP => '{to_datetime(moment):%F %T.%f}+00:00'"
