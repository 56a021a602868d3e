"""Time Travel for the sessions of one driver: what the front door asks on the way of a statement.

In: a session, the text of a statement, who runs it. Out: the text that Spark runs, or what runs instead of
it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.model import Domain
from lineage.names import split_name, sql_name
from lineage.parse import parse
from lineage.tokens import tokenize, word
from time_travel.adopting import Adopter
from time_travel.changes import ChangesSince
from time_travel.cloning import Cloning
from time_travel.creating import (
    FOLDER,
    NEW_TABLE,
    Creation,
    place_in,
    read_creation,
    with_location,
    with_properties,
)
from time_travel.dropping import Drop
from time_travel.errors import NotAQueryError, StalePlanError, UnknownStatementError
from time_travel.flowing import over, statements_of
from time_travel.lake import SESSION_CATALOG, Cloned, Helpers, Lake, Table, View
from time_travel.measuring import asks_for_storage
from time_travel.parameters import read_change, read_question, require_transient
from time_travel.planning import Planner
from time_travel.point import Rule
from time_travel.reading import Past
from time_travel.recorded import Records
from time_travel.registry import Registry
from time_travel.remaking import CREATED
from time_travel.replaying import Replay
from time_travel.restoring import Restore, read_restore
from time_travel.retention import (
    PREFIX,
    RETENTION,
    Retention,
    delta_properties,
    in_force,
    is_pinned,
    is_transient,
    key,
)
from time_travel.schema_cloning import read_schema_clone
from time_travel.setting import PARAMETER_COLUMNS, Setting
from time_travel.showing import SCHEMA_COLUMNS, TABLE_COLUMNS, Shower, read_show
from time_travel.staging import Place, Staged, staged
from time_travel.table_cloning import METRIC_COLUMNS, read_table_clone
from time_travel.undo_plan import UndoPlan
from time_travel.undoing import MayUndrop, Undo
from time_travel.unfinished import follow_files
from time_travel.upkeep import Upkeep
from time_travel.vacuuming import read_vacuum, require_kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.by import By
    from lineage.statement import Statement

_KEPT = ("_TABLE", "_VIEW", "_FUNCTION", "_SCHEMA")
_FULL = 3
Run = Callable[["SparkSession", str], Any]
"""Runs a text in a session, as Spark does."""

# What a clause cannot do without: most texts are done with after one look.
_MAY_TRAVEL = re.compile(r"\b(?:AT|BEFORE)\s*\(|\bAS\s+OF\b|@", re.IGNORECASE)
_COMMENTED = re.compile(r"/\*|--")
_SHOWS = re.compile(
    r"\s*SHOW\s+(?:PARAMETERS\b|(?:TERSE\s+)?(?:TABLES|SCHEMAS|DATABASES)\s+HISTORY\b)", re.IGNORECASE
)
_CLONES_SCHEMA = re.compile(
    r"\s*CREATE\s+(?:SCHEMA|DATABASE|NAMESPACE)\b.*?\bCLONE\b", re.IGNORECASE | re.DOTALL
)
_RESTORES = re.compile(r"(?:\s|/\*.*?\*/|--[^\n]*\n)*RESTORE\b", re.IGNORECASE | re.DOTALL)
_SETS = re.compile(r"DATA_RETENTION_TIME_IN_DAYS|MAX_TIME_TRAVEL_HOURS", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """What a writer writes to.

    Attributes:
        is_delta: it is a Delta table, or will be one.
        place: of a table that is made.
    """

    is_delta: bool
    place: Place | None = None


class TimeTravel:
    """The way to the past.

    Args:
        own: a session of the system's own, which is not audited.
        root: where the registry lies, a Hadoop path.
        clock: UTC microseconds.
        schema: where tables of the system are registered.
        recorded: what is on record of a statement.
        running_since: when the oldest statement began that still runs, UTC microseconds; None for none.
        guarded: asks for what a statement can do without, and gives the other value where that fails.
        changes: what a statement on record, and later ones, have changed.
        quiet: a block in which what a session runs belongs to no statement.
        cloned: is told of each clone before it is there.
        may_undrop: refuses to bring back what somebody may not.
        shown: what a SHOW of somebody else's shows; None for any other text.
    """

    def __init__(
        self,
        own: SparkSession,
        root: str,
        schema: str,
        clock: Callable[[], int],
        recorded: Records,
        running_since: Callable[[], int | None],
        guarded: Callable[[Callable[[], Any], Any], Any],
        changes: ChangesSince,
        quiet: Callable[[SparkSession], AbstractContextManager[None]],
        cloned: Cloned,
        may_undrop: MayUndrop,
        shown: Callable[[SparkSession, str, By, Run], Any | None],
    ) -> None:
        self._cloned = cloned
        self._may_undrop = may_undrop
        self._shown = shown
        self._own = own
        self._root = root
        self._schema = schema
        self._running_since = running_since
        self._guarded = guarded
        self._quiet = quiet
        self._clock = clock
        self._recorded = recorded
        self._changes = changes
        self._helpers: Helpers | None = None
        self._followed = False
        self.registry = Registry(own, root)

    def may_travel(self, text: str) -> bool:
        """Whether a text may hold a clause; False is certain."""
        return _MAY_TRAVEL.search(text) is not None or (
            _COMMENTED.search(text) is not None and _MAY_TRAVEL.search(_without_comments(text)) is not None
        )

    def rewritten(self, spark: SparkSession, text: str) -> str:
        """The text that Spark runs; the same where it asks for no past.

        Raises:
            TimeTravelError: a clause that cannot be read, or a point that cannot be had.
        """
        lake = self._lake(spark)
        if _CLONES_SCHEMA.match(text) or _RESTORES.match(text):
            return text
        if not self._followed:
            self._follow_files(lake)
        return self._past(lake).rewritten(text) or text

    def found(self, spark: SparkSession, text: str) -> tuple[tuple[str, ...], int] | None:
        """The table of the one clause of a text, and its version; None for what is no Delta table.

        Raises:
            TimeTravelError: a point that cannot be had.
        """
        lake = self._lake(spark)
        found = self._past(lake).clauses_of(text)
        meant = lake.find(found[0].table) if len(found) == 1 else None
        if (
            not isinstance(meant, Table)
            or meant.provider != "delta"
            or lake.state(meant.location or "") is None
        ):
            return None
        return found[0].table, self._past(lake).version_at(found[0], meant)

    def replayed(self, spark: SparkSession, query_id: str) -> str:
        """The query of a statement on record as text that reads the versions on record.

        Raises:
            TimeTravelError: see `time_travel.replay`.
        """
        with self._quiet(spark):
            recorded = self._recorded(query_id)
            if recorded is None:
                raise UnknownStatementError(
                    f"no statement on record has the query id {query_id!r}",
                    "look it up in query_history, column query_id",
                )
            lake = self._lake(spark)
            rule = partial(self._rule, lake)
            return Replay(recorded, lake, rule, self._versions_read, self._clock).text()

    def _versions_read(self, query_id: str) -> Mapping[str, int] | None:
        recorded = self._recorded(query_id)
        return None if recorded is None else recorded.newest()

    def way_of(self, statement: Statement) -> Callable[[SparkSession, str, By, Run], Any] | None:
        """What runs a statement instead of Spark, or before it; None where Spark alone does.

        Each is called with the session, the text as Spark would get it, who runs it, and Spark's own way.
        """
        kind = statement.statement_type
        if kind.startswith(("DROP_", "UNDROP_")) and kind.endswith(_KEPT):
            return partial(self._drop if kind.startswith("DROP_") else self._undrop, statement)
        if kind.startswith(("CREATE_TABLE", "REPLACE_TABLE", "CREATE_SCHEMA")):
            return self._creating(statement)
        if kind.startswith("ALTER_"):
            return self._set if _SETS.search(statement.text) else None
        if kind in ("SHOW", "DESCRIBE"):
            return self._showing(statement.text)
        return {"RESTORE": self._restore, "VACUUM": self._vacuum}.get(kind)

    def _showing(self, text: str) -> Callable[[SparkSession, str, By, Run], Any] | None:
        if "->>" in text:
            return self._flow
        return self._show if _SHOWS.match(text) else None

    def _creating(self, statement: Statement) -> Callable[[SparkSession, str, By, Run], Any]:
        is_schema = statement.statement_type == "CREATE_SCHEMA"
        if statement.command is not None and statement.command.source:
            return self._clone_schema if is_schema else self._clone_table
        return self._create_schema if is_schema else self._create_table

    def writes_delta(self, spark: SparkSession, statement: Statement) -> bool:
        """Whether what a statement writes is Delta's: another kind of table is cached by the very session."""
        if statement.statement_type.startswith(("CREATE_TABLE", "REPLACE_TABLE")):
            if statement.command is not None or statement.changes:
                return True  # a clone; what gets policies with its CREATE
            provider = re.search(r"\bUSING\s+(\w+)", statement.text, re.IGNORECASE)
            named = provider[1] if provider else str(spark.conf.get("spark.sql.sources.default"))
            return named.lower() == "delta"
        lake = self._lake(spark)
        found = [lake.find(target.parts) for target in statement.targets]
        return bool(found) and all(isinstance(one, Table) and one.provider == "delta" for one in found)

    def written(self, spark: SparkSession, table: tuple[str, ...], provider: str, *, makes: bool) -> Written:
        """What a writer writes to.

        Args:
            spark: whose tables count.
            table: the parts of a name; () for a path.
            provider: of what is not there yet; "" for the session's own.
            makes: a table that is not there is made, at a place that is left open.
        """
        lake = self._lake(spark)
        found = lake.find(table) if table else None
        if found is not None:
            return Written(isinstance(found, Table) and found.provider == "delta")
        is_delta = (provider or str(spark.conf.get("spark.sql.sources.default"))).lower() == "delta"
        is_new = makes and is_delta
        return Written(
            is_delta, self._guarded(lambda: self._placed(lake, table, {}), None) if is_new else None
        )

    @cached_property
    def upkeep(self) -> Upkeep:
        """What is done beside statements."""
        lake = self._lake(self._own)
        return Upkeep(lake, self.registry, self._root, self._schema, is_under_rule, self._running_since)

    def measure_for(self, text: str) -> None:
        """Bring the storage views up to date for a text that asks them.

        Warns:
            UserWarning: they could not be; what they say is older.
        """
        if not asks_for_storage(text, self._schema):
            return
        try:
            self.measure()
        except Exception as error:
            warnings.warn(f"the storage views show an earlier state: {error!r}", stacklevel=2)
            raise

    def measure(self) -> None:
        """Bring the storage views up to date."""
        self.upkeep.measure(self._clock())

    def require_kept(self, spark: SparkSession, name: tuple[str, ...], hours: float) -> None:
        """Refuse a VACUUM that would delete what is kept.

        Args:
            spark: the user's session.
            name: of the table, `("delta", path)` by its path.
            hours: what the VACUUM is to retain.

        Raises:
            RetainedError: the table is kept for longer.
        """
        lake = self._lake(spark)
        table = lake.find(name)
        if not isinstance(table, Table) or table.provider != "delta" or not table.location:
            return
        if lake.state(table.location) is None:
            return
        properties = lake.properties(table.location, "")
        if is_under_rule(table.location, properties) or is_pinned(properties):
            require_kept(table, hours, self._retention(lake, table), self._clock(), properties)

    def _vacuum(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del by
        vacuum = read_vacuum(text)
        if vacuum is not None and vacuum.hours is not None and not vacuum.dry:
            self.require_kept(spark, vacuum.name, vacuum.hours)
        return run(spark, text)

    def _lake(self, spark: SparkSession) -> Lake:
        if self._helpers is None:
            self._helpers = Helpers.compiled(self._own, self._cloned)
        return Lake(spark, self._helpers)

    def _follow_files(self, lake: Lake) -> None:
        """What drivers that are gone have left unfinished must not be in the way."""
        self._guarded(lambda: follow_files(lake, self.registry.objects(lake)), None)
        self._followed = True

    def _past(self, lake: Lake) -> Past:
        return Past(lake, partial(self._rule, lake), self._versions_read, self._clock(), self._clock)

    def _drop(self, statement: Statement, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        lake, targets = self._lake(spark), statement.targets
        if len(targets) != 1:
            return run(spark, text)
        catalog = self._guarded(lambda: lake.current[0], SESSION_CATALOG)
        if catalog != SESSION_CATALOG and len(targets[0].parts) < _FULL:
            return run(spark, text)
        self._follow_files(lake)
        drop = Drop(lake, self.registry, partial(self._retention, lake), by)
        parts = targets[0].parts
        if targets[0].domain is Domain.FUNCTION:
            is_temporary = word(tokenize(text) or [], 1) in ("TEMPORARY", "TEMP")
            return run(spark, text) if is_temporary else drop.function(parts, lambda: run(spark, text))
        if targets[0].domain is not Domain.SCHEMA:
            return drop.relation(parts, lambda: run(spark, text))
        if len(parts) > 1 and parts[0].lower() != SESSION_CATALOG:
            return run(spark, text)
        tokens = tokenize(text) or []
        cascade = any(word(tokens, at) == "CASCADE" for at in range(3, len(tokens)))
        return drop.schema(parts[-1], lambda: run(spark, text), cascade=cascade)

    def _undrop(self, statement: Statement, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del text, run
        lake = self._lake(spark)
        self._follow_files(lake)
        undo = Undo(lake, self._own, self.registry, by, self._may_undrop)
        target = statement.targets[0]
        if target.domain is Domain.SCHEMA:
            return jvm.said(spark, undo.schema(target.parts))
        return jvm.said(spark, undo.relation(target.domain.name, target.parts))

    def _create_table(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del by
        creation = read_creation(text)
        if creation is None:
            return run(spark, text)
        self._require_transient(spark, creation)
        # A table is made whatever fails here: one that Spark manages is kept by its drop.
        located = self._guarded(lambda: self._located(spark, creation), None)
        return run(spark, located or with_properties(creation))

    def _require_transient(self, spark: SparkSession, creation: Creation) -> None:
        """A schema that is transient holds what is transient."""
        days = creation.properties.get(key(RETENTION))
        lake = self._lake(spark)
        if days is None or lake.current[0] != SESSION_CATALOG:
            return
        schema = lake.schema_facts(creation.name[-2] if len(creation.name) > 1 else lake.current[1]) or {}
        require_transient(creation.name, int(days), transient=is_transient(schema.get("properties", {})))

    def _located(self, spark: SparkSession, creation: Creation) -> str | None:
        """The text with a place for its new Delta table; None where the text or another catalog decides."""
        lake = self._lake(spark)
        if creation.has_location or lake.find(creation.name) is not None:
            return None
        provider = creation.provider or self._provider_like(lake, creation.like)
        if (provider or str(spark.conf.get("spark.sql.sources.default"))).lower() != "delta":
            return None
        place = self._placed(lake, creation.name, creation.properties)
        return None if place is None else with_location(creation, *place)

    def staged(
        self, spark: SparkSession, text: str, run: Run, quiet: Callable[[], AbstractContextManager[None]]
    ) -> Staged | None:
        """A table that a text creates, before anything of it is made; see `time_travel.staging.staged`."""
        creation, lake = read_creation(text), self._lake(spark)
        if creation is not None:
            self._require_transient(spark, creation)
        provider = str(spark.conf.get("spark.sql.sources.default"))
        return staged(lake, creation, provider, partial(self._placed, lake), partial(run, spark), quiet)

    def _placed(self, lake: Lake, name: tuple[str, ...], properties: Mapping[str, str]) -> Place | None:
        """Where a table lies that is not there yet; None for one of another catalog, or by its path."""
        is_elsewhere = len(name) == _FULL and name[0].lower() != SESSION_CATALOG
        if is_elsewhere or name[0].lower() == "delta" or lake.current[0] != SESSION_CATALOG:
            return None
        schema = lake.schema_facts(name[-2] if len(name) > 1 else lake.current[1])
        if schema is None:
            return None
        periods = in_force(properties, schema["properties"], self.registry.objects(lake).parameters)
        return place_in(schema["location"], lake.warehouse, name[-1]), NEW_TABLE | delta_properties(periods)

    def _create_schema(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        creation = read_creation(text)
        if creation is None:
            return run(spark, text)
        lake, name = self._lake(spark), creation.name[-1]
        is_new = self._guarded(lambda: self._is_free(lake, creation), False)  # noqa: FBT003  the other value
        made = run(spark, with_properties(creation))
        if is_new:
            # Not in the text, which Spark's errors quote.
            self._guarded(lambda: lake.set_schema_property(name, CREATED, str(by.time)), None)
        return made

    @staticmethod
    def _is_free(lake: Lake, creation: Creation) -> bool:
        """Whether a schema of the session catalog is to be made that is not there."""
        catalog = creation.name[0].lower() if len(creation.name) > 1 else lake.current[0]
        return catalog == SESSION_CATALOG and lake.schema_facts(creation.name[-1]) is None

    def _clone_table(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del by
        clone = read_table_clone(text)
        metrics = None if clone is None else self._cloning(spark).table(clone, partial(run, spark))
        return run(spark, text) if metrics is None else spark.createDataFrame(metrics, METRIC_COLUMNS)

    def _clone_schema(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        clone = read_schema_clone(text)
        if clone is None:
            return run(spark, text)
        cloning = self._cloning(spark)
        return jvm.said(spark, cloning.schema(clone, self._past(cloning.lake), by))

    def _cloning(self, spark: SparkSession) -> Cloning:
        return Cloning(self._lake(spark), self._own, self.registry)

    def _restore(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        del by
        clause, lake = read_restore(text), self._lake(spark)
        if clause is None or (not clause.own and lake.find(clause.table) is None):
            return run(spark, text)  # Spark says what is wrong, or has it in another catalog
        return Restore(self._past(lake), spark).table(clause, lambda sent: run(spark, sent))

    def _set(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        change = read_change(text)
        if change is None:
            return run(spark, text)
        self._setting(spark, by).change(change)
        return jvm.said(spark, "Statement executed successfully.")

    def _setting(self, spark: SparkSession, by: By) -> Setting:
        lake = self._lake(spark)
        return Setting(
            lake, spark, self.registry, partial(self._retention, lake), partial(self._is_under_rule, lake), by
        )

    def adopter(self, spark: SparkSession) -> Adopter:
        """What brings tables of a session under the rule."""
        lake = self._lake(spark)
        is_made_here = partial(is_under_rule, properties={})
        return Adopter(spark, lake, partial(self._retention, lake), is_made_here, partial(self._quiet, spark))

    def undo_plan(self, spark: SparkSession, query_id: str) -> UndoPlan:
        """How to take a statement back; see `time_travel.plan_undo`."""
        with self._quiet(spark):
            lake = self._lake(spark)
            rule = partial(self._rule, lake)
            return Planner(lake, self.registry, rule, self._versions_read, self._changes, self._clock()).plan(
                query_id
            )

    def require_current(self, spark: SparkSession, plan: UndoPlan) -> None:
        """Check that no table of a plan has changed since it was made.

        Raises:
            StalePlanError: one has.
        """
        with self._quiet(spark):
            lake = self._lake(spark)
            for step in plan.steps:
                table = lake.find(split_name(step.table)) if step.from_version is not None else None
                location = table.location if isinstance(table, Table) else None
                state = lake.state(location) if location else None
                if step.from_version is not None and (state is None or state.latest != step.from_version):
                    raise StalePlanError(
                        f"{step.table} is no longer at version {step.from_version}, as when the plan to undo"
                        f" {plan.query_id} was made",
                        "plan again: time_travel.plan_undo says what has come since",
                    )

    @contextmanager
    def within(self, spark: SparkSession, schema: str) -> Iterator[None]:
        """With another current schema, by its quoted name; "" for the same."""
        before = sql_name(self._lake(spark).current)
        if schema:
            spark.sql(f"USE {schema}")
        try:
            yield
        finally:
            if schema:
                spark.sql(f"USE {before}")

    def _provider_like(self, lake: Lake, like: tuple[str, ...]) -> str | None:
        meant = lake.find(like) if like else None
        if isinstance(meant, View):
            return None
        return meant.provider if meant is not None else None

    def _flow(self, spark: SparkSession, text: str, by: By, run: Run) -> Any:
        """Each statement of a chain over what the one before it has shown: queries, which run as one."""
        first, *rest = statements_of(text)
        for following in rest:
            if not parse(over("shown", following)).is_query:
                raise NotAQueryError(
                    f"->> hands what is shown to {following.split(None, 1)[0] if following else 'nothing'}",
                    "let a SELECT follow it, and run other statements by themselves",
                )
        frame = self._shown(spark, first, by, run)
        if frame is None:
            frame = self._show(spark, first, by, run, flows=True)
        if not rest:
            return frame  # the arrow stands in a pattern
        session = spark.newSession()
        for name in ("spark.sql.ansi.enabled", "spark.sql.ansi.doubleQuotedIdentifiers"):
            session.conf.set(name, "true")
        with self._quiet(session):  # what is read by the way is read, and recorded, with the last one's rows
            session.createDataFrame(frame.collect(), frame.schema).createTempView("shown_0")
            for number, following in enumerate(rest[:-1]):
                run(
                    session,
                    f"CREATE TEMPORARY VIEW shown_{number + 1} AS {over(f'shown_{number}', following)}",
                )
            return run(session, over(f"shown_{len(rest) - 1}", rest[-1]))

    def _show(self, spark: SparkSession, text: str, by: By, run: Run, *, flows: bool = False) -> Any:
        question = read_question(text)
        if question is not None:
            return spark.createDataFrame(self._setting(spark, by).show(question), PARAMETER_COLUMNS)
        show = read_show(text, flows=flows)
        if show is None:
            return run(spark, text)
        lake = self._lake(spark)
        self._follow_files(lake)
        shower = Shower(lake, self.registry, partial(self._retention, lake), by.time)
        if show.noun == "TABLES":
            return spark.createDataFrame(shower.tables(show), TABLE_COLUMNS)
        return spark.createDataFrame(shower.schemas(show), SCHEMA_COLUMNS)

    def _retention(self, lake: Lake, of: Table | str) -> Retention:
        """The periods of a table, or of a schema by its name."""
        if isinstance(of, Table) and of.name[0] == "delta":
            of = lake.registered(of.location or "") or of
        own = lake.properties(of.location or "", PREFIX) if isinstance(of, Table) else {}
        name = of if isinstance(of, str) else of.name[-2]
        schema = lake.schema_facts(name) if name != "delta" else None
        return in_force(own, (schema or {}).get("properties", {}), self.registry.objects(lake).parameters)

    def _rule(self, lake: Lake, table: Table) -> Rule:
        if not self._is_under_rule(lake, table):
            return Rule()
        periods = self._retention(lake, table)
        return Rule(periods.horizon(self._clock()), periods.days)

    def _is_under_rule(self, lake: Lake, table: Table) -> bool:
        return is_under_rule(table.location or "", lake.properties(table.location or "", PREFIX))


def is_under_rule(location: str, properties: Mapping[str, str]) -> bool:
    """Whether a table was made here or adopted; others keep what Delta keeps.

    >>> is_under_rule("file:/w/_tables/t-1", {}), is_under_rule("file:/w/s.db/t", {})
    (True, False)
    """
    if location.rstrip("/").rpartition("/")[0].endswith(f"/{FOLDER}"):
        return True
    return any(name.startswith(PREFIX) for name in properties)


def _without_comments(text: str) -> str:
    return re.sub(r"/\*.*?\*/|--[^\n]*", " ", text, flags=re.DOTALL)
