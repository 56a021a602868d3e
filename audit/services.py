"""The services of one root, for statements and commands, built by one function.

In: a Spark, a configuration, a clock. Out: `Services`, the same for an attached application and for the
command line. What records statements (spool, worker, ingest) is `audit.recorder`, which needs these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from audit.analysis.sessions import Sessions
from audit.core.actor import Actor
from audit.core.guard import Failures
from audit.core.origin import Origin, measured
from audit.graph import LineageGraph, Question, answer
from audit.graph.errors import LineageNameUnknown
from audit.policies.service import Policies
from audit.record.redaction import Redaction
from audit.spark import jvm
from audit.spark.catalog.session_catalog import SessionCatalog
from audit.spark.plans.plan_facts import PlanFactsReader
from audit.spark.plans.rdd_origins import RddOrigins
from audit.spark.redaction_patterns import redaction_rules
from audit.spark.sessions import own_session
from audit.spool.home import hash_key
from audit.store.days.finished_tables import SUM_TABLES
from audit.store.later_tables import LATER_TABLES
from audit.store.lineage_tables import snapshot_of
from audit.store.measured.measurement import Measurement
from audit.store.measured.names import MEASURED
from audit.store.records.changes import changes_since
from audit.store.records.creations import creation_of
from audit.store.records.record_reader import RecordReader
from audit.store.records.running import running_since
from audit.store.records.versions import recorded_statement
from audit.store.tables import AUDIT_TABLES, DIGESTS
from audit.time_travel.backups.backup_files import BackupFiles
from audit.time_travel.backups.backup_log import BackupLog
from audit.time_travel.backups.model.events import NAME as BACKUP_HISTORY
from audit.time_travel.backups.model.witnesses import observation
from audit.time_travel.backups.rules.requests import of_policy, of_set
from audit.time_travel.backups.service import Backups
from audit.time_travel.backups.store import choose
from audit.time_travel.dropped.drop_registry import NAME as OBJECT_HISTORY
from audit.time_travel.service import TimeTravel
from lineage.model import Domain
from lineage.sql.parse import parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock
    from audit.core.config import Config
    from audit.core.ids import IdGenerator
    from audit.policies.enforcement.backup_privileges import BackupPrivileges
    from audit.policies.enforcement.enforcer import Enforcer
    from audit.policies.enforcement.privilege_checks import RecordedCreation
    from audit.spark.delta.values import NewCopy
    from audit.spark.handler import Run
    from audit.spool.pending import RunningStatement
    from audit.time_travel.backups.content.backup_content import ObjectGrant
    from audit.time_travel.backups.rules.requests import BackupSecurable
    from audit.time_travel.backups.store.backup_store import BackupStore
    from audit.time_travel.dropped.drop_registry import ObjectEvent
    from audit.time_travel.versions.changes import RecordedChange
    from audit.time_travel.versions.recorded import RecordedStatement


@dataclass(frozen=True, slots=True)
class Services:
    """The services of one root.

    Attributes:
        config: of the root.
        clock: UTC microseconds.
        new_id: gives query ids and ids of events, UUIDv7.
        application_id: Spark's.
        origin: of all statements of this process.
        spark: a session of the audit's own, which no policy governs.
        redaction: takes secrets out of what goes on record.
        failures: guarded errors of the audit.
        plans: reads Spark's analyzed plans.
        rdd_origins: learns which plans RDDs are made of.
        catalog: what `spark` knows of names.
        sessions: the audited ones.
        policies: masking and row access policies, tags, roles, grants.
        time_travel: old versions, drops, retention.
        backups: backup policies, backup sets, backups.
        measurement: storage, governance and the catalog, as views show them.
    """

    config: Config
    clock: Callable[[], int]
    new_id: Callable[[], str]
    application_id: str
    origin: Origin
    spark: SparkSession
    redaction: Redaction
    failures: Failures
    plans: PlanFactsReader
    rdd_origins: RddOrigins
    catalog: SessionCatalog
    sessions: Sessions
    policies: Policies
    time_travel: TimeTravel
    backups: Backups
    measurement: Measurement

    @property
    def enforcer(self) -> Enforcer:
        """The enforcement rule of the JVM."""
        return self.policies.enforcer


def _nothing() -> None:
    """There is nothing to take in."""


def build(
    spark: SparkSession,
    config: Config,
    clock: Clock,
    ids: IdGenerator,
    *,
    flush: Callable[[], None] = _nothing,
    running: Callable[[], Sequence[RunningStatement]] = tuple,
    user: str = "",
) -> Services:
    """Build the services of a root.

    Args:
        spark: any session of the application; the services work in sessions of their own.
        config: of the root.
        clock: tells the time in UTC microseconds.
        ids: gives query ids.
        flush: ingests waiting records; does nothing by default.
        running: the statements of this application that have not ended; none by default.
        user: whom the events name that protect a clone; nobody by default: its statement is on record.
    """
    # `newSession` has no temporary views and no settings of the user.
    redaction = Redaction(redaction_rules(spark, config), partial(hash_key, config.spool_home))
    own, failures, sessions = own_session(spark), Failures(redaction.message), Sessions()
    records = _Records(RecordReader(own, config.root, flush), str(spark.sparkContext.applicationId), running)
    backup_log = BackupLog(own, config.root)
    # A session of its own: nothing else may change the settings under which bodies of policies are resolved.
    policies = Policies(
        own_session(spark),
        config.root,
        config.account,
        config.admins.split(","),
        [
            *(table.name for table in (*AUDIT_TABLES, *LATER_TABLES, DIGESTS, *SUM_TABLES)),
            OBJECT_HISTORY,
            BACKUP_HISTORY,
            *MEASURED,
        ],
        records.creation_of,
        records.downstream,
        backup_location=config.backup_location,
        backups=partial(_backup_named, backup_log),
        enforces=config.enforce_privileges,
    )
    # The rule governs every session of the JVM that is not exempt from it.
    policies.exempt(own)
    governance = _Governance(policies, clock.now, ids.new, user)
    travel = TimeTravel(own, config.root, config.schema, clock.now, records, governance, sessions, failures)
    store_at = cache(partial(_store_of, config, spark))
    backups = Backups(
        backup_log,
        BackupFiles(config.other_backup_location, store_at),
        travel.catalog,
        governance,
        partial(observation, clock),
        travel.contents_of_backups(config.local_root or config.spool_home, store_at),
        lambda: travel.maintenance,
    )
    plans = PlanFactsReader(jvm.view(spark.sparkContext))
    return Services(
        config,
        clock.now,
        ids.new,
        str(spark.sparkContext.applicationId),
        measured(),
        own,
        redaction,
        failures,
        plans,
        RddOrigins(jvm.view(spark.sparkContext)),
        SessionCatalog(own, plans),
        sessions,
        policies,
        travel,
        backups,
        Measurement(travel, policies, backup_log, config.schema, clock.now, failures),
    )


def _store_of(config: Config, spark: SparkSession, location: str) -> BackupStore:
    settings = {
        name: value
        for name, value in spark.sparkContext.getConf().getAll()
        if name.startswith("spark.hadoop.fs.s3a.")
    }
    return choose.store_at(config, location, settings)


def _backup_named(log: BackupLog, domain: Domain, name: str) -> BackupSecurable | None:
    """A backup policy or set by its full name, for GRANT."""
    state = log.state()
    if domain is Domain.BACKUP_POLICY:
        policy = state.policy_named(name)
        return None if policy is None else of_policy(policy)
    backup_set = state.set_named(name)
    return None if backup_set is None else of_set(backup_set)


@dataclass(frozen=True, slots=True)
class _Records:
    """The records, for Time Travel and policies."""

    reader: RecordReader
    application_id: str
    running: Callable[[], Iterable[RunningStatement]]

    def recorded(self, query_id: str) -> RecordedStatement | None:
        """See `audit.store.records.versions`."""
        return recorded_statement(self.reader, query_id)

    def changes_since(self, query_id: str) -> list[RecordedChange] | None:
        """See `audit.store.records.changes`."""
        return changes_since(self.reader, query_id)

    def creation_of(self, domain: Domain, name: str, identity: int | None) -> RecordedCreation | None:
        """See `audit.store.records.creations`."""
        return creation_of(self.reader, domain, name, identity)

    def running_since(self) -> int | None:
        """See `audit.store.records.running`."""
        return running_since(self.reader.spark, self.reader.root, self.application_id, self.running())

    def downstream(self) -> Callable[[str], LineageGraph | None]:
        """The downstream lineage of columns, with all records so far."""
        # Once for all columns that are asked for: a flush commits to four Delta tables, which takes seconds.
        self.reader.flush()
        snapshot = snapshot_of(self.reader.root, None, lambda: self.reader.spark)

        def downstream(column: str) -> LineageGraph | None:
            try:
                return answer(snapshot, Question(column, "downstream"))
            # A column that no statement has moved has no downstream lineage.
            except LineageNameUnknown:
                return None

        return downstream


@dataclass(frozen=True, slots=True)
class _Governance:
    """The policies, for Time Travel."""

    policies: Policies
    clock: Callable[[], int]
    new_id: Callable[[], str]
    user: str

    def copy(self, new: NewCopy, made: int | None = None) -> None:
        """See `Policies.copy`."""
        self.policies.enforcer.require_folder(new.place)
        # No query id: the CREATE … CLONE has a record of its own.
        self.policies.copy(new, Actor(self.clock(), self.user, None, self.new_id), made)

    def copy_views(
        self, views: Sequence[tuple[Sequence[str], Sequence[str]]], made: int | None = None
    ) -> None:
        """See `Policies.copy_views`."""
        self.policies.copy_views(views, Actor(self.clock(), self.user, None, self.new_id), made)

    def dropped_since(self, table_ids: Iterable[str], made: int) -> Sequence[str]:
        """See `Policies.dropped_since`."""
        return self.policies.dropped_since(table_ids, made)

    def require_no_backup(self, spark: SparkSession, place: str) -> None:
        """See `Enforcer.require_no_backup`."""
        self.policies.enforcer.require_no_backup(spark, place)

    def require_schema_drop(self, spark: SparkSession, name: str) -> None:
        """See `Enforcer.require_schema_drop`."""
        self.policies.enforcer.require_schema_drop(spark, name)

    def require_retention(self, spark: SparkSession, table_id: str) -> None:
        """See `Enforcer.require_retention`."""
        self.policies.enforcer.require_retention(spark, table_id)

    def require_undrop(self, dropped: ObjectEvent, actor: Actor) -> None:
        """See `Policies.require_undrop`."""
        self.policies.require_undrop(dropped.domain, dropped.name, dropped.object_id, actor)

    def shows_all_rows(self, table_id: str) -> bool:
        """See `Policies.shows_all_rows`."""
        return self.policies.shows_all_rows(table_id)

    def owner_of(self, key: str) -> str | None:
        """See `Policies.owner_of`."""
        return self.policies.owner_of(key)

    def backup_privileges(self, spark: SparkSession, actor: Actor) -> BackupPrivileges:
        """See `Policies.backup_privileges`."""
        return self.policies.backup_privileges(spark, actor)

    def own_backup(self, on: BackupSecurable, spark: SparkSession, actor: Actor) -> None:
        """See `Policies.own_backup`."""
        self.policies.own_backup(on, spark, actor)

    def require_restore(self, domain: Domain, name: Sequence[str], spark: SparkSession, actor: Actor) -> None:
        """See `Policies.require_restore`."""
        self.policies.require_restore(domain, name, spark, actor)

    def grants_on(
        self, domain: Domain, name: Sequence[str], table_id: str | None
    ) -> Iterable[tuple[str, str, str, bool]]:
        """See `Policies.grants_on`."""
        return self.policies.grants_on(domain, name, table_id)

    def own_restored(
        self,
        objects: Iterable[tuple[Domain, Sequence[str]]],
        grants: Iterable[ObjectGrant],
        spark: SparkSession,
        actor: Actor,
    ) -> None:
        """See `Policies.own_restored`."""
        self.policies.own_restored(objects, grants, spark, actor)

    def forget_backup(self, on: BackupSecurable, actor: Actor) -> None:
        """See `Policies.forget_backup`."""
        self.policies.forget_backup(on, actor)

    def show(self, spark: SparkSession, text: str, actor: Actor, run: Run) -> Any | None:
        """What a SHOW of the governance shows; None for any other text."""
        handler = self.policies.handler_for(parse(text))
        return None if handler is None else handler(spark, text, actor, run)
