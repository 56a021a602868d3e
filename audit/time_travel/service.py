"""The Time Travel stage: runs DROP, UNDROP, CLONE, RESTORE, VACUUM, retention and SHOW … HISTORY.

In: a session, a parsed statement, its actor. Out: the text for Spark, or the handler of the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from audit.core.errors import TimeTravelError
from audit.spark.delta.delta_catalog import DeltaCatalog
from audit.spark.delta.delta_java import DeltaJava
from audit.spark.delta.measured_tables import MeasuredTables
from audit.spark.delta.values import Table, is_path
from audit.spark.pyspark_api import frames
from audit.time_travel.backups.content.contents import Contents
from audit.time_travel.backups.content.restore_table import Protection
from audit.time_travel.clones.clone import Cloner
from audit.time_travel.clones.clone_schema import require_whole
from audit.time_travel.clones.clone_table import METRIC_COLUMNS, clone_of
from audit.time_travel.clones.creation import Creation
from audit.time_travel.dropped.crash_repair import finish_interrupted_moves
from audit.time_travel.dropped.drop import Dropper
from audit.time_travel.dropped.drop_registry import DropRegistry
from audit.time_travel.dropped.undrop import Undropper
from audit.time_travel.errors import UnknownStatementError
from audit.time_travel.retention.adopt import Adopter
from audit.time_travel.retention.maintenance import Maintenance
from audit.time_travel.retention.parameters import parameter_change_of, require_object
from audit.time_travel.retention.property_changes import PropertyChange, PropertyChanges
from audit.time_travel.retention.retention_rule import RetentionRule, has_retention
from audit.time_travel.retention.set_retention import PARAMETER_COLUMNS, RetentionSetting
from audit.time_travel.retention.table_properties import is_pinned
from audit.time_travel.retention.vacuum import require_kept
from audit.time_travel.show_history import SCHEMA_COLUMNS, TABLE_COLUMNS, HistoryRows, require_read
from audit.time_travel.statement_chain import run_chain
from audit.time_travel.versions.reading import TextAtVersions, VersionReader, VersionToRead
from audit.time_travel.versions.replay import Replay
from audit.time_travel.versions.restore import Restorer, clause_of
from audit.time_travel.versions.undo_plan import UndoPlan, require_current
from audit.time_travel.versions.undo_planner import UndoPlanner
from lineage.model import Domain
from lineage.names import SESSION_CATALOG, split_name, sql_name
from lineage.sql.commands.backups.statements import BackupStatement
from lineage.sql.commands.command import Command
from lineage.sql.commands.create import CreateSchema, CreateTable
from lineage.sql.commands.show import ShowObjects
from lineage.sql.commands.time_travel.clone import CloneSchema, CloneTable
from lineage.sql.commands.time_travel.drop import Drop, Undrop
from lineage.sql.commands.time_travel.restore import Restore
from lineage.sql.commands.time_travel.retention import AlterRetention, ShowParameters
from lineage.sql.commands.time_travel.statement_chain import StatementChain
from lineage.sql.commands.time_travel.vacuum import Vacuum
from lineage.sql.function_definition import CreateFunction
from lineage.sql.parse import parse, typed_of
from lineage.sql.typed import OfTimeTravel, Typed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.core.guard import Failures
    from audit.spark.handler import Handler, Run
    from audit.time_travel.backups.store.backup_store import BackupStore
    from audit.time_travel.ports import Governance, RecordStore, Sessions
    from lineage.sql.statement import Statement

_FULL = 3
RESTORES = "restores"
"""The folder of notes of restores that are on their way."""


class TimeTravel:
    """The Time Travel of one root.

    Args:
        own: a session of the system's own, which is not audited.
        root: of the registry, a Hadoop path.
        clock: UTC microseconds.
        schema: where tables of the system are registered.
        records: of the statements so far.
        governance: protects clones, refuses UNDROP, shows policies.
        sessions: the audited ones.
        failures: notes errors of look-ups that are optional for a statement.
    """

    def __init__(
        self,
        own: SparkSession,
        root: str,
        schema: str,
        clock: Callable[[], int],
        records: RecordStore,
        governance: Governance,
        sessions: Sessions,
        failures: Failures,
    ) -> None:
        self._cloned = governance.copy
        self._copy_views = governance.copy_views
        self._protection = Protection(governance.copy, governance.copy_views, governance.dropped_since)
        self._grants_on = governance.grants_on
        self._may_undrop = governance.require_undrop
        self._require_no_backup = governance.require_no_backup
        self._may_drop_schema = governance.require_schema_drop
        self._may_keep = governance.require_retention
        self._show_governance = governance.show
        self._shows_all_rows = governance.shows_all_rows
        self._owner_of = governance.owner_of
        self._own = own
        self._root = root
        self._schema = schema
        self._running_since = records.running_since
        self._guarded = failures.guard
        self._sessions = sessions
        self._clock = clock
        self._recorded = records.recorded
        self._changes = records.changes_since
        self._helpers: DeltaJava | None = None
        self._moves_are_finished = False
        self.registry = DropRegistry(own, root)
        self.retention = RetentionRule(self.registry, clock)
        self.properties = PropertyChanges(self.retention)
        self.creation = Creation(self._catalog, self.registry, clock, failures)

    @staticmethod
    def reads_versions(statement: Statement) -> bool:
        """Whether versions must be put into the text; RESTORE and schema clones look them up themselves.

        A script reads versions when its statements run, so each of them is asked (`JvmStatements`).
        """
        if statement.statement_type == "SCRIPT":
            return False
        return bool(statement.points) and not isinstance(statement.typed, (Restore, CloneSchema))

    def with_versions(self, spark: SparkSession, statement: Statement) -> str:
        """The text for Spark, of a statement that reads versions; the parser lets go of what it reads.

        Raises:
            TimeTravelError: a clause is invalid, or there is no version at its point.
        """
        return self._at_versions(self._catalog(spark), statement).text

    @contextmanager
    def at_versions(self, spark: SparkSession, statement: Statement) -> Iterator[str]:
        """A block with the text for Spark, of a statement that reads versions.

        Raises:
            TimeTravelError: a clause is invalid, or there is no version at its point.
        """
        catalog = self._catalog(spark)
        sent = self._at_versions(catalog, statement)
        try:
            yield sent.text
        finally:
            catalog.release(sent.marks)

    def _at_versions(self, catalog: DeltaCatalog, statement: Statement) -> TextAtVersions:
        # Once: this driver's own moves are finished by their statements; only a killed driver leaves one.
        if not self._moves_are_finished:
            self._finish_interrupted_moves(catalog)
        return self._reader(catalog).rewrite(statement)

    def version_read(self, spark: SparkSession, text: str) -> VersionToRead | None:
        """The table of the one clause of a text, and its version; None for other tables than Delta's.

        Raises:
            TimeTravelError: there is no version at the point.
        """
        catalog = self._catalog(spark)
        found = self._reader(catalog).clauses_of(parse(text).points)
        entry = catalog.find(found[0].table) if len(found) == 1 else None
        if (
            not isinstance(entry, Table)
            or entry.provider != "delta"
            or catalog.state(entry.location or "") is None
        ):
            return None
        version = self._reader(catalog).version_at(found[0], entry)
        return VersionToRead(found[0].table, entry, version, self.retention.applies(catalog, entry))

    def read_version(self, spark: SparkSession, read: VersionToRead, options: Mapping[str, str]) -> Any:
        """The DataFrame of a version, with the options of its reader."""
        return self._catalog(spark).past_frame(read.table.name, read.version, options)

    def replay_query(self, spark: SparkSession, query_id: str) -> str:
        """The query of a recorded statement as text that reads the recorded versions.

        Raises:
            TimeTravelError: see `time_travel.replay`.
        """
        # The look-ups belong to no statement; the query that comes of them is recorded when it runs.
        with self._sessions.quiet(spark):
            recorded = self._recorded(query_id)
            if recorded is None:
                raise UnknownStatementError(
                    f"no statement on record has the query id {query_id!r}",
                    "look it up in query_history, column query_id",
                )
            catalog = self._catalog(spark)
            limits = partial(self.retention.version_limits, catalog)
            return Replay(recorded, catalog, limits, self._recorded, self._clock).text()

    def handler_for(self, statement: Statement) -> Handler | None:
        """The handler of a statement about Time Travel; None for any other statement."""
        typed = statement.typed
        # A plain SHOW TABLES is Spark's, without a column retention_time (docs/time-travel.md, Differences).
        is_ours = isinstance(typed, OfTimeTravel) and not (
            isinstance(typed, ShowObjects) and not typed.history
        )
        return partial(self._run, statement) if is_ours else None

    def _run(  # noqa: C901, PLR0911  one return a type
        self, statement: Statement, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        """Run a statement by its type; if an earlier stage changed its text, by the type of the new text."""
        typed = statement.typed if text == statement.text else typed_of(text)
        self._require_none_of_backups(typed, spark)
        match typed:
            case AlterRetention():
                return self._alter_retention(typed, spark, actor)
            case CloneSchema():
                return self._clone_schema(typed, spark, text, actor, run)
            case CloneTable():
                return self._clone_table(typed, spark, text, run)
            case CreateSchema():
                return self.creation.create_schema(typed, spark, text, actor, run)
            case CreateTable():
                return self.creation.create_table(typed, spark, text, run)
            case Drop():
                return self._drop(typed, spark, text, actor, run)
            case StatementChain():
                return self._run_chain(typed, spark, actor, run)
            case Restore():
                return self._restore(typed, spark, text, run)
            case ShowObjects() | ShowParameters():
                return self._show(typed, spark, text, actor, run)
            case Undrop():
                return self._undrop(typed, spark, actor)
            case Vacuum():
                return self._vacuum(typed, spark, text, run)
            case BackupStatement() | Command() | CreateFunction() | None:
                return run(spark, text)

    def _require_none_of_backups(self, typed: Typed | None, spark: SparkSession) -> None:
        """Refuse files of backups, by their paths, to a statement that commits past Spark's plans."""
        match typed:
            case AlterRetention(name=name) | Restore(name):
                names: tuple[tuple[str, ...], ...] = (name,)
            case CloneTable(name=name, source=source):
                names = name, source  # a clone pins its source
            case _:
                names = ()
        for one in filter(is_path, names):
            self._require_no_backup(spark, one[-1])

    @cached_property
    def maintenance(self) -> Maintenance:
        """Measuring, purging and Fail-safe."""
        # One for all sessions, so in the system's own, which sees every table as it is.
        catalog = self._catalog(self._own)
        return Maintenance(
            catalog,
            self.registry,
            MeasuredTables(catalog, self._root, self._schema),
            has_retention,
            self._running_since,
            self._owner_of,
        )

    def measure(self) -> None:
        """Update the storage views."""
        self.maintenance.measure(self._clock())

    def require_kept(self, spark: SparkSession, name: tuple[str, ...], hours: float) -> None:
        """Refuse a VACUUM that would delete files within retention or Fail-safe.

        Args:
            spark: the user's session.
            name: of the table, `("delta", path)` by its path.
            hours: RETAIN of the VACUUM.

        Raises:
            RetainedError: the table is retained for longer.
        """
        catalog = self._catalog(spark)
        table = catalog.find(name)
        if not isinstance(table, Table) or table.provider != "delta" or not table.location:
            return
        if catalog.state(table.location) is None:
            return
        properties = catalog.properties(table.location, "")
        if has_retention(table.location, properties) or is_pinned(properties):
            require_kept(table, hours, self.retention.periods(catalog, table), self._clock(), properties)

    def _vacuum(self, vacuum: Vacuum, spark: SparkSession, text: str, run: Run) -> Any:
        # Without RETAIN Delta (4.4) goes by the table's own property, which holds the same period.
        if vacuum.hours is not None and not vacuum.dry:
            self.require_kept(spark, vacuum.name, vacuum.hours)
        return run(spark, text)

    def name_at(self, spark: SparkSession, location: str) -> tuple[str, ...]:
        """The full name of the table that is registered at a location; `("delta", path)` for none."""
        found = self._catalog(spark).registered(location)
        return ("delta", location) if found is None else found.name

    def restores(self, spark: SparkSession, text: str) -> bool:
        """Whether a RESTORE restores another version than the present one, or raises an error."""
        restore = typed_of(text)
        clause = clause_of(restore) if isinstance(restore, Restore) else None
        if clause is None:
            return True
        try:
            return Restorer(self._reader(self._catalog(spark)), spark).version(clause).is_older
        except TimeTravelError:
            return True

    def altered(
        self, spark: SparkSession, name: str, location: str, change: PropertyChange
    ) -> PropertyChange | None:
        """See `PropertyChanges.altered`."""
        return self.properties.altered(self._catalog(spark), split_name(name), location, change)

    def catalog(self, spark: SparkSession) -> DeltaCatalog:
        """The catalog and the Delta tables as a session sees them."""
        return self._catalog(spark)

    def contents_of_backups(self, home: Path, store_at: Callable[[str], BackupStore]) -> Contents:
        """What makes and restores the files of backups; a folder of this machine has its notes."""
        own, catalog, protection, grants = self._own, self._catalog, self._protection, self._grants_on
        notes = home / RESTORES
        return Contents(own, catalog, self.registry, protection, grants, store_at, notes, self._clock)

    def _catalog(self, spark: SparkSession) -> DeltaCatalog:
        if self._helpers is None:
            self._helpers = DeltaJava.load(self._own, self._cloned)
        return DeltaCatalog(spark, self._helpers)

    def _finish_interrupted_moves(self, catalog: DeltaCatalog) -> None:
        """Finish interrupted moves of tables by drivers that are gone."""
        self._guarded(lambda: finish_interrupted_moves(catalog, self.registry.state(catalog)), None)
        self._moves_are_finished = True

    def _reader(self, catalog: DeltaCatalog) -> VersionReader:
        # Each once a statement: it may name a table many times, and a look at records reads two tables.
        return VersionReader(
            catalog,
            cache(catalog.find),
            cache(partial(self.retention.version_limits, catalog)),
            cache(self._recorded),
            self._clock(),
            self._clock,
        )

    def _drop(self, drop: Drop, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        catalog, parts = self._catalog(spark), drop.name
        # Only the session catalog keeps what is dropped; a name without a catalog is of the current one.
        current_catalog = self._guarded(lambda: catalog.current[0], SESSION_CATALOG)
        if drop.temporary or (current_catalog != SESSION_CATALOG and len(parts) < _FULL):
            return run(spark, text)
        self._finish_interrupted_moves(catalog)
        dropper = Dropper(catalog, self.registry, partial(self.retention.periods, catalog), actor)
        if drop.domain is Domain.FUNCTION:
            return dropper.function(parts, lambda: run(spark, text))
        if drop.domain is not Domain.SCHEMA:
            return dropper.relation(parts, lambda: run(spark, text))
        # A schema of another catalog, by its full name.
        if len(parts) > 1 and parts[0].lower() != SESSION_CATALOG:
            return run(spark, text)
        self._may_drop_schema(spark, parts[-1])  # before anything in it is moved
        return dropper.schema(parts[-1], lambda: run(spark, text), cascade=drop.cascade)

    def _undrop(self, undrop: Undrop, spark: SparkSession, actor: Actor) -> Any:
        catalog = self._catalog(spark)
        self._finish_interrupted_moves(catalog)
        periods = partial(self.retention.periods, catalog)
        undo = Undropper(catalog, self._own, self.registry, actor, periods, self._may_undrop)
        if undrop.domain is Domain.SCHEMA:
            return frames.message_frame(spark, undo.schema(undrop.name))
        return frames.message_frame(spark, undo.relation(undrop.domain.name, undrop.name))

    def _clone_table(self, clone: CloneTable, spark: SparkSession, text: str, run: Run) -> Any:
        if clone.external:
            return run(spark, text)
        metrics = self._cloner(spark).table(clone_of(clone), partial(run, spark))
        # Delta clones Parquet and Iceberg as well, and raises its own error for what is no table.
        if metrics is None:
            return run(spark, clone.text_for_spark(text))
        return spark.createDataFrame(metrics, METRIC_COLUMNS)

    def _clone_schema(
        self, clone: CloneSchema, spark: SparkSession, text: str, actor: Actor, run: Run
    ) -> Any:
        if clone.replace or clone.deep:
            return run(spark, text)  # Spark has neither form and raises its own error
        cloning = self._cloner(spark)
        return frames.message_frame(
            spark,
            cloning.schema(require_whole(clone), self._reader(cloning.catalog), actor, self._copy_views),
        )

    def _cloner(self, spark: SparkSession) -> Cloner:
        return Cloner(self._catalog(spark), self._own, self.registry, self._clock)

    def _restore(self, restore: Restore, spark: SparkSession, text: str, run: Run) -> Any:
        clause, catalog = clause_of(restore), self._catalog(spark)
        if clause is None or (not clause.own and catalog.find(clause.table) is None):
            return run(spark, text)  # Spark raises its error, or restores a table of another catalog
        return Restorer(self._reader(catalog), spark).table(clause, lambda sent: run(spark, sent))

    def _alter_retention(self, alter: AlterRetention, spark: SparkSession, actor: Actor) -> Any:
        self._retention_setting(spark, actor).change(parameter_change_of(alter))
        return frames.message_frame(spark, "Statement executed successfully.")

    def _retention_setting(self, spark: SparkSession, actor: Actor) -> RetentionSetting:
        catalog = self._catalog(spark)
        return RetentionSetting(
            catalog,
            spark,
            self.registry,
            partial(self.retention.periods, catalog),
            partial(self.retention.applies, catalog),
            actor,
            self.properties.of_system,
            partial(self._may_keep, spark),
        )

    def adopter(self, spark: SparkSession) -> Adopter:
        """The adopter of a session's tables."""
        catalog = self._catalog(spark)
        # By the location alone: the adopter looks at the properties itself.
        is_made_here = partial(has_retention, properties={})
        return Adopter(
            spark,
            catalog,
            partial(self.retention.periods, catalog),
            is_made_here,
            partial(self._sessions.quiet, spark),
            self.properties.of_system,
        )

    def undo_plan(self, spark: SparkSession, query_id: str) -> UndoPlan:
        """A plan to undo a statement; see `time_travel.plan_undo`."""
        with self._sessions.quiet(spark):
            catalog = self._catalog(spark)
            limits = partial(self.retention.version_limits, catalog)
            return UndoPlanner(
                catalog, self.registry, limits, self._recorded, self._changes, self._clock()
            ).plan(query_id)

    def require_current(self, spark: SparkSession, plan: UndoPlan) -> None:
        """Check that no table of a plan has changed since the plan was made.

        Raises:
            StalePlanError: a table has changed.
        """
        with self._sessions.quiet(spark):
            require_current(plan, self._catalog(spark))

    @contextmanager
    def within(self, spark: SparkSession, schema: str) -> Iterator[None]:
        """A block with another current schema, by its quoted name; "" keeps the current one."""
        before = sql_name(self._catalog(spark).current)
        if schema:
            spark.sql(f"USE {schema}")
        try:
            yield
        finally:
            if schema:
                spark.sql(f"USE {before}")

    def _run_chain(self, chain: StatementChain, spark: SparkSession, actor: Actor, run: Run) -> Any:
        def show(text: str) -> Any:
            frame = self._show_governance(spark, text, actor, run)
            return self._show(typed_of(text), spark, text, actor, run) if frame is None else frame

        return run_chain(chain.parts, spark, show, run, self._sessions)

    def _show(self, show: Typed | None, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any:
        if isinstance(show, ShowParameters):
            rows = self._retention_setting(spark, actor).show(require_object(show))
            return spark.createDataFrame(rows, PARAMETER_COLUMNS)
        if not isinstance(show, ShowObjects):
            return run(spark, text)
        require_read(show)
        catalog = self._catalog(spark)
        self._finish_interrupted_moves(catalog)
        periods = partial(self.retention.periods, catalog)
        shower = HistoryRows(catalog, self.registry, periods, self._shows_all_rows, actor.time)
        if show.noun == "TABLES":
            return spark.createDataFrame(shower.tables(show), TABLE_COLUMNS)
        return spark.createDataFrame(shower.schemas(show), SCHEMA_COLUMNS)
