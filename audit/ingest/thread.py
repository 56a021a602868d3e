"""The ingest thread of an application: runs at an interval, on request, and at the end.

In: the application's spool. Out: rows in the audit tables. With `ingest = "external"` the thread only seals
what is spooled, so that `audit ingest` finds something; the driver then writes no table.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.errors import AuditError, RecordLossWarning, SchemaTakenError
from audit.core.guard import attempt
from audit.core.identity import suppress
from audit.core.job_tags import SUPPRESS_TAG
from audit.evidence.digest_log import DigestLog
from audit.ingest.adopt import adopt_dead_spools
from audit.ingest.folder import Ingested, ingest_folder, prepare
from audit.record.access_record import Started
from audit.spark.pyspark_api import job_tags
from audit.store.commit_lock import commit_lock
from audit.store.error_translation import as_ingest_error
from audit.store.made_tables import create_tables
from audit.store.registration import register_tables
from audit.store.views import VIEWS, create_views, with_those_below
from lineage.sql.mentions import named_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock
    from audit.core.config import Config
    from audit.spark.catalog.session_catalog import SessionCatalog
    from audit.spool import Spool


class IngestThread:
    """Rotates the spool and ingests sealed segments at the configured interval.

    Args:
        spark: a session of the audit's own.
        spool: of this application.
        config: says where, how often, and by whom (`ingest`).
        catalog: tells the analysis of recovered statements about tables.
        clock: UTC microseconds.
        former: roots that this process has detached from.
    """

    def __init__(
        self,
        spark: SparkSession,
        spool: Spool,
        config: Config,
        catalog: SessionCatalog,
        clock: Clock,
        former: Collection[str] = (),
    ) -> None:
        self._spark = spark
        self._spool = spool
        self._config = config
        self._catalog = catalog
        self._clock = clock
        self._former = former
        self._stop = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._ready = False
        self._taken: SchemaTakenError | None = None
        self._views: set[str] = set()
        self._thread = threading.Thread(target=self._loop, name="audit-ingest", daemon=True)
        self._thread.start()

    def prepare(self) -> None:
        """Create and register the audit tables, once; returns when they can be named in SQL.

        Raises:
            IngestError: Spark or Delta refused.
            TableAlteredError: an audit table is not as this version made it, or gone.
        """
        if not self._ready:
            with self._one_at_a_time:
                self._prepare()

    def _prepare(self) -> None:
        if self._ready:
            return
        root = self._config.root
        with (
            self._unrecorded(),
            commit_lock(self._spark, root),
            as_ingest_error(f"the audit tables under {root} could not be made"),
        ):
            create_tables(self._spark, root)
            DigestLog(self._spark, root, self._config.spool_home, self._clock).prepare()
        self._ready = True
        _warned(self._register)

    def try_to_prepare(self) -> None:
        """As `prepare`, but an error becomes a warning.

        Raises:
            SchemaTakenError: the names stand for another root, whose records would be taken for this one's.
        """
        _warned(self.prepare)
        if self._taken is not None:
            raise self._taken

    def show_views(self, text: str) -> None:
        """Create the views that a text names, or all for one that asks what is in the schema.

        Args:
            text: names the schema of the audit tables, which are there.
        """
        schema = self._config.schema
        named = named_in(text, schema)
        wanted = named & {*VIEWS} if named else {*VIEWS}
        # Those over storage may not be made yet: a text that names one has had it measured before. What a
        # view stands on was made before it, so definitions are read at a first use alone.
        if self._taken is None and not wanted <= self._views:
            missing = [name for name in with_those_below(wanted) if name not in self._views]
            with self._one_at_a_time, self._unrecorded():
                self._views |= {*create_views(self._spark, schema, missing)}

    def run_now(self) -> Ingested:
        """Ingest everything recorded so far; returns when it is committed.

        With `ingest = "external"`: when it is sealed.
        """
        if self._config.ingest == "external":
            self._spool.rotate()
            return Ingested()
        self.prepare()
        with self._one_at_a_time, self._unrecorded():
            self._spool.rotate()
            done = ingest_folder(self._spark, self._spool.path, self._config.root, self._running)
        _warn_of_damage(done.damaged)
        return done

    def _register(self) -> None:
        """Register the tables by name; errors of the metastore are warnings: records are written by path."""
        schema = self._config.schema
        with (
            self._unrecorded(),
            as_ingest_error(f"the audit tables could not be registered in the schema {schema}"),
        ):
            try:
                register_tables(self._spark, self._config.root, schema, former=self._former)
            except SchemaTakenError as error:
                self._taken = error
                raise

    @contextmanager
    def _unrecorded(self) -> Iterator[None]:
        """A block whose executions are not recorded."""
        with suppress(), job_tags.tagged(self._spark.sparkContext, SUPPRESS_TAG):
            yield

    def _running(self) -> Iterable[Started]:
        return [Started.from_dict(one.start) for one in self._spool.running()]

    def stop(self) -> None:
        """Stop the thread; records stay in the spool."""
        self._stop.set()

    def close(self) -> None:
        """Ingest the rest and end the thread."""
        self.stop()
        self._thread.join(timeout=120.0)
        _warned(self.run_now)

    def _loop(self) -> None:
        if self._config.ingest == "thread":
            _warned(partial(prepare, self._spark))
            _warned(self.prepare)
            _warned(self._adopt)
        while not self._stop.wait(self._config.ingest_interval_seconds):
            _warned(self.run_now)

    def _adopt(self) -> None:
        with self._one_at_a_time, self._unrecorded():
            # At the start: records of drivers that were killed are in the tables before new ones.
            adopted = adopt_dead_spools(self._catalog, self._config, self._clock)
        for done in adopted:
            _warn_of_damage(done.ingested.damaged)
            if done.error is not None:
                warnings.warn(str(done.error), stacklevel=2)


def _warn_of_damage(files: Iterable[Path]) -> None:
    for file in files:
        warnings.warn(
            f"a segment of the spool is damaged and was set aside as {file}; its intact records are taken in,"
            " and `audit ingest` makes the others again when this driver has ended",
            RecordLossWarning,
            stacklevel=3,
        )


def _warned(run: Callable[[], object]) -> None:
    """Turn errors into warnings: statements continue while the tables cannot be written."""

    def failed(error: Exception) -> None:
        known = isinstance(error, AuditError)
        text = str(error) if known else f"the ingest failed, and will be tried again: {error!r}"
        warnings.warn(text, stacklevel=4)

    attempt(run, failed)
