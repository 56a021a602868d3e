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

from audit import config
from audit.cli.output import F
from audit.errors import CatalogUnknownError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.analysis.spark_catalog import SessionCatalog
    from audit.by import By
    from time_travel.upkeep import Upkeep


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
        from audit.embedded.spark import by_path
        from audit.identity import suppress

        with suppress():
            yield by_path(self.conf)

    @contextmanager
    def upkeep(self) -> Iterator[Upkeep]:
        """What looks after tables: it needs the catalog that knows them.

        Raises:
            CatalogUnknownError: neither an embedded metastore is here, nor does `--conf` name one.
            RootBusy: a session has the embedded metastore open.
        """
        from audit.embedded.spark import by_path, embedded
        from audit.identity import suppress
        from audit.store.own_session import own_session
        from audit.store.running import running_since
        from policies.attaching import copied
        from policies.ledger import Ledger
        from time_travel.lake import Helpers, Lake
        from time_travel.registry import Registry
        from time_travel.service import is_under_rule
        from time_travel.upkeep import Upkeep

        local = self.config.local_root
        with suppress():
            if local is not None and (local / "metastore").is_dir():
                spark = own_session(embedded(local, conf=self.conf))
            elif any(key.startswith(("spark.sql.catalog", "spark.hadoop.")) for key in self.conf):
                spark = own_session(by_path({"spark.sql.catalogImplementation": "hive", **self.conf}))
            else:
                raise CatalogUnknownError(
                    f"which tables there are under {self.root} only their catalog knows, and none is here",
                    "name its metastore (--conf spark.hadoop.hive.metastore.uris=thrift://…), or ask in a"
                    " session: time_travel.attached.travel_of(spark).upkeep",
                )
            ledger = Ledger(spark, self.root)

            def cloned(source: str, clone: str, is_past: bool) -> None:  # noqa: FBT001  as `Cloned` is
                del is_past
                ledger.change(functools.partial(copied, source, clone, self.by()))

            yield Upkeep(
                Lake(spark, Helpers.compiled(spark, cloned)),
                Registry(spark, self.root),
                self.root,
                self.config.schema,
                is_under_rule,
                lambda: running_since(spark, self.root, "", ()),
            )

    def by(self) -> By:
        """Who asks, and when."""
        from audit.by import By
        from audit.clock import SystemClock
        from audit.ids import IdGenerator

        clock = SystemClock()
        return By(clock.now(), self.config.user, None, IdGenerator(clock).new)

    def catalog(self, spark: SparkSession) -> SessionCatalog:
        """What tells the analysis of recovered statements about tables."""
        from audit import jvm
        from audit.analysis.plan_facts import PlanFactsReader
        from audit.analysis.spark_catalog import SessionCatalog

        return SessionCatalog(spark, PlanFactsReader(jvm.view(spark.sparkContext)))


def root_option(command: F) -> F:
    """The options `--root` and `--conf`; gives the command its `tool`."""

    @functools.wraps(command)
    def called(*args: Any, root: str | None, conf: tuple[str, ...], **kwargs: Any) -> Any:
        loaded = config.load({"root": root})
        pairs = dict(pair.split("=", 1) for pair in conf)
        return command(*args, tool=Tool(loaded, pairs), **kwargs)

    decorate: Callable[[Any], Any] = click.option(
        "--root", help="Folder of the audit tables, a Hadoop path. Default: as `audit doctor` shows."
    )
    also: Callable[[Any], Any] = click.option(
        "--conf", multiple=True, metavar="KEY=VALUE", callback=_pairs, help="A setting of Spark; repeatable."
    )
    decorated: F = decorate(also(called))
    return decorated


def _pairs(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if "=" not in value:
            raise click.BadParameter(f"{value!r} is not KEY=VALUE")
    return values
