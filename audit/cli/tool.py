"""What the commands that open the audit tables share: `--root`, the configuration, a Spark.

In: options. Out: a `Tool`. Nothing here is audited, and no metastore is needed.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from audit.cli.output import F
from audit.core import config
from audit.core.errors import CatalogUnknownError, RootMissing, SparkFailed

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.core.clock import Clock
    from audit.core.ids import IdGenerator
    from audit.record.logging_event import LoggingEvent
    from audit.services import Services
    from audit.spark.catalog.session_catalog import SessionCatalog
    from audit.spool import Spool


# What an attached session makes under its root; any of it may have been moved elsewhere or deleted.
_OF_AUDIT = (
    "access_history", "query_history", "column_lineage", "table_lineage", "governance_history",
    "object_history", "metastore", "spool", "quarantine",
)  # fmt: skip


_NAMES_A_FILE = "[FAILED_READ_FILE"


def names_a_file(error: Exception) -> bool:
    """Whether an error of Spark's says which file it could not read."""
    from audit.spark.java_errors import java_messages

    return any(_NAMES_A_FILE in one for one in java_messages(error))


@contextmanager
def as_spark_failed() -> Iterator[None]:
    """A block whose errors of Spark and Delta become one line, and not a traceback.

    Raises:
        SparkFailed: Spark has raised an error, which it quotes from where it names a file, if it does.
    """
    from audit.spark.java_errors import CALL_ERRORS, java_message, java_messages
    from audit.store.error_translation import first_lines

    try:
        yield
    except CALL_ERRORS as error:
        # The innermost says what it was: those around it, that a thread has failed.
        text = next((one for one in java_messages(error) if _NAMES_A_FILE in one), java_message(error))
        _, found, rest = text.partition(_NAMES_A_FILE)
        raise SparkFailed(
            f"Spark could not do it: {first_lines(found + rest or text)}",
            "mend what it names: a file of an audit table comes back from a backup, or with RESTORE TABLE;"
            " settings of Spark go into --conf",
        ) from error


def _state(local: Path) -> str:
    """What is wrong about a root in which nothing of an audit can be seen."""
    if not local.is_dir():
        return "is no folder" if local.exists() else "is not there"
    return "has no audit in it" if os.access(local, os.R_OK | os.X_OK) else "may not be read by this user"


@dataclass(frozen=True, slots=True)
class Tool:
    """A command's configuration, and its Spark when it asks for one."""

    config: config.Config
    conf: dict[str, str]

    @property
    def root(self) -> str:
        """Folder of the audit tables."""
        return self.config.root

    def require_audit(self) -> None:
        """Look whether an audit is, or was, under the root.

        Raises:
            RootMissing: nothing is there: it is misspelt, or a folder of something else.
        """
        local = self.config.local_root
        if local is None or any((local / name).is_dir() for name in _OF_AUDIT):
            return
        # A root that is only now to be made: its drivers wait for `audit ingest` to do it.
        if (self.config.spool_home / "spool").is_dir():
            return
        state = _state(local)
        raise RootMissing(
            f"the root {local} {state}",
            "check --root (`audit doctor` shows the default), or attach a session",
        )

    def note(
        self, kind: LoggingEvent, action: str, details: Mapping[str, Any], *, began: int | None = None
    ) -> None:
        """Record what a command has done to the logging: the next ingest brings it into query_history.

        Args:
            kind: what.
            action: the command.
            details: what else there is to say.
            began: UTC microseconds; None: now.

        Raises:
            SpoolUnavailableError: it could not be written.
        """
        from audit.capture.logging_events import LoggingEvents
        from audit.core.origin import measured

        with self.spool() as (spool, clock, ids):
            events = LoggingEvents(spool, measured(), clock, ids)
            events.note(
                kind, self.config.user, action, details, began=began, tagging=config.tagging_of(self.config)
            )

    @contextmanager
    def spool(self) -> Iterator[tuple[Spool, Clock, IdGenerator]]:
        """A spool of this command, with the clock and the ids of what it writes there.

        Raises:
            SpoolUnavailableError: it could not be opened, or written.
        """
        from audit.core.clock import SystemClock
        from audit.core.ids import IdGenerator
        from audit.spool import Spool
        from audit.spool.home import claim_home

        claim_home(self.config)
        clock = SystemClock()
        ids = IdGenerator(clock)
        spool = Spool.open(self.config.spool_home, clock=clock, ids=ids)
        try:
            yield spool, clock, ids
        finally:
            spool.close()

    @contextmanager
    def spark(self) -> Iterator[SparkSession]:
        """A Spark without a metastore; what it does is in no audit."""
        from audit.core.identity import suppress
        from audit.spark.embedded.spark import by_path
        from audit.spark.file_systems import require_file_system

        self.require_audit()
        with suppress(), as_spark_failed():
            spark = by_path(self.conf)
            require_file_system(spark, self.root)
            yield spark

    @contextmanager
    def catalog_spark(self) -> Iterator[SparkSession]:
        """A Spark with the catalog of the tables; what it does is in no audit.

        Raises:
            CatalogUnknownError: neither an embedded metastore is here, nor does `--conf` name one.
            RootBusy: a session has the embedded metastore open.
        """
        from audit.core.identity import suppress
        from audit.spark.sessions import own_session

        self.require_audit()
        with suppress(), as_spark_failed():
            yield own_session(self._with_catalog())

    @contextmanager
    def audited_spark(self) -> Iterator[SparkSession]:
        """A Spark with the catalog of the tables; what it does is on record, and is taken in at the end.

        Raises as `catalog_spark`.
        """
        from audit import attach, detach
        from audit.policies.model.privileges import ADMIN

        self.require_audit()
        with as_spark_failed():
            spark = self._with_catalog().newSession()
            # Who may write the files of the root is an administrator.
            attach(spark, self.config.user, self.root, roles=[ADMIN])
            try:
                yield spark
            finally:
                detach(spark)

    def _with_catalog(self) -> SparkSession:
        from audit.spark.embedded.spark import by_path, embedded

        local = self.config.local_root
        if local is not None and (local / "metastore").is_dir():
            return embedded(local, conf=self.conf)
        # A Hive metastore, Glue or Unity Catalog is named by settings of these prefixes.
        if any(key.startswith(("spark.sql.catalog", "spark.hadoop.")) for key in self.conf):
            # Spark's default is a catalog in memory, which knows no table.
            return by_path({"spark.sql.catalogImplementation": "hive", **self.conf})
        raise CatalogUnknownError(
            f"only a catalog knows which tables there are, and {self.root} has no embedded metastore",
            "name the metastore: --conf spark.hadoop.hive.metastore.uris=thrift://…",
        )

    @contextmanager
    def services(self) -> Iterator[Services]:
        """The services of the root, with the catalog that knows its tables.

        Raises:
            CatalogUnknownError: neither an embedded metastore is here, nor does `--conf` name one.
            RootBusy: a session has the embedded metastore open.
        """
        with self.catalog_spark() as spark:
            services = self._services(spark)
            try:
                yield services
            finally:
                services.policies.end()

    def _services(self, spark: SparkSession) -> Services:
        """The same services as an attached session has; what they do is in no audit."""
        from audit.core.clock import SystemClock
        from audit.core.ids import IdGenerator
        from audit.policies.model.privileges import ADMIN
        from audit.services import build
        from audit.spark import sessions

        clock, user = SystemClock(), self.config.user
        services = build(spark, self.config, clock, IdGenerator(clock), user=user)
        # Who may write the files of the root is an administrator.
        services.policies.set_identity(sessions.session_id(services.spark), user, [ADMIN])
        return services

    def actor(self) -> Actor:
        """Who asks, and when."""
        from audit.core.actor import Actor
        from audit.core.clock import SystemClock
        from audit.core.ids import IdGenerator

        clock = SystemClock()
        return Actor(clock.now(), self.config.user, None, IdGenerator(clock).new)

    def catalog(self, spark: SparkSession) -> SessionCatalog:
        """What tells the analysis of recovered statements about tables."""
        from audit.spark import jvm
        from audit.spark.catalog.session_catalog import SessionCatalog
        from audit.spark.plans.plan_facts import PlanFactsReader

        return SessionCatalog(spark, PlanFactsReader(jvm.view(spark.sparkContext)))


def root_option(command: F) -> F:
    """The options `--root` and `--conf`; gives the command its `tool`."""

    # Click keeps the options in an attribute of the function, which `wraps` copies.
    @functools.wraps(command)
    def called(*args: Any, root: str | None, conf: tuple[str, ...], **kwargs: Any) -> Any:
        loaded = config.load({"root": root})
        # The value of a Java option holds a `=` itself.
        pairs = dict(pair.split("=", 1) for pair in conf)
        return command(*args, tool=Tool(loaded, pairs), **kwargs)

    decorate: Callable[[Any], Any] = click.option(
        "--root", help="Folder of the audit tables, a Hadoop path. `audit doctor` shows the default."
    )
    also: Callable[[Any], Any] = click.option(
        "--conf", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="A Spark setting; repeatable."
    )
    decorated: F = decorate(also(called))
    return decorated


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
    return values
