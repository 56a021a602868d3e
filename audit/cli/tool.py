"""What the commands that open the audit tables share: `--root`, the configuration, a Spark.

In: options. Out: a `Tool`. Nothing here is audited, and no metastore is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from audit.cli.output import F
from audit.core import config
from audit.core.errors import CatalogUnknownError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.services import Services
    from audit.spark.catalog.session_catalog import SessionCatalog
    from audit.time_travel.retention.maintenance import Maintenance


@dataclass(frozen=True, slots=True)
class Tool:
    """A command's configuration, and its Spark when it asks for one."""

    config: config.Config
    conf: dict[str, str]

    @property
    def root(self) -> str:
        """Folder of the audit tables."""
        return self.config.root

    @contextmanager
    def spark(self) -> Iterator[SparkSession]:
        """A Spark without a metastore; what it does is in no audit."""
        from audit.core.identity import suppress
        from audit.spark.embedded.spark import by_path

        with suppress():
            yield by_path(self.conf)

    @contextmanager
    def catalog_spark(self) -> Iterator[SparkSession]:
        """A Spark with the catalog of the tables; what it does is in no audit.

        Raises:
            CatalogUnknownError: neither an embedded metastore is here, nor does `--conf` name one.
            RootBusy: a session has the embedded metastore open.
        """
        from audit.core.identity import suppress
        from audit.spark.embedded.spark import by_path, embedded
        from audit.spark.sessions import own_session

        local = self.config.local_root
        with suppress():
            if local is not None and (local / "metastore").is_dir():
                yield own_session(embedded(local, conf=self.conf))
            # A Hive metastore, Glue or Unity Catalog is named by settings of these prefixes.
            elif any(key.startswith(("spark.sql.catalog", "spark.hadoop.")) for key in self.conf):
                # Spark's default is a catalog in memory, which knows no table.
                yield own_session(by_path({"spark.sql.catalogImplementation": "hive", **self.conf}))
            else:
                raise CatalogUnknownError(
                    f"only a catalog knows which tables there are, and {self.root} has no embedded metastore",
                    "name the metastore: --conf spark.hadoop.hive.metastore.uris=thrift://…",
                )

    @contextmanager
    def maintenance(self) -> Iterator[Maintenance]:
        """What looks after tables: it needs the catalog that knows them.

        Raises:
            CatalogUnknownError: neither an embedded metastore is here, nor does `--conf` name one.
            RootBusy: a session has the embedded metastore open.
        """
        with self.catalog_spark() as spark:
            services = self._services(spark)
            try:
                yield services.time_travel.maintenance
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
