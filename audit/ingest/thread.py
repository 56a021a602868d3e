"""The driver's own ingest: a thread that takes records in when it is time, asked, or over.

In: the driver's spool. Out: rows in the audit tables. With `ingest = "external"` the thread only seals
what is spooled, so that `audit ingest` finds something; the driver then writes no table.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from audit import jvm
from audit.errors import AuditError, RecordLossWarning
from audit.identity import suppress
from audit.ingest.adopt import adopt_dead_spools
from audit.ingest.folder import Ingested, ingest_folder
from audit.record import Started
from audit.store.commit_lock import commit_lock
from audit.store.naming import naming
from audit.store.tables import create_tables, register_tables

if TYPE_CHECKING:
    from audit.driver import Driver


class IngestThread:
    """Sleeps for the configured interval, then rotates the spool and takes in what is sealed."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._stop = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._ready = False
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
        driver = self._driver
        root = driver.config.root
        with (
            suppress(),
            jvm.tagged(driver.spark.sparkContext, driver.quiet_tag),
            commit_lock(driver.spark, root),
            naming(f"the audit tables under {root} could not be made"),
        ):
            create_tables(driver.spark, root)
        self._ready = True
        _warned(self._register)

    def try_to_prepare(self) -> None:
        """As `prepare`, with a warning where it cannot be done."""
        _warned(self.prepare)

    def run_now(self) -> Ingested:
        """Take in everything that is on record; returns when it is committed.

        With `ingest = "external"`: when it is sealed.
        """
        driver = self._driver
        if driver.config.ingest == "external":
            driver.spool.rotate()
            return Ingested()
        self.prepare()
        with self._one_at_a_time, suppress(), jvm.tagged(driver.spark.sparkContext, driver.quiet_tag):
            driver.spool.rotate()
            done = ingest_folder(driver.spark, driver.spool.path, driver.config.root, self._running)
        _tell_damage(done.damaged)
        return done

    def _register(self) -> None:
        """Records do not need names: a metastore that refuses them, or knows others, is only warned of."""
        driver = self._driver
        with (
            suppress(),
            jvm.tagged(driver.spark.sparkContext, driver.quiet_tag),
            naming(f"the audit tables could not be registered in the schema {driver.config.schema}"),
        ):
            register_tables(driver.spark, driver.config.root, driver.config.schema)

    def _running(self) -> Iterable[Started]:
        return [Started.from_dict(one.start) for one in self._driver.spool.running()]

    def stop(self) -> None:
        """Let the thread end; what is not taken in stays in the spool."""
        self._stop.set()

    def close(self) -> None:
        """Take in what is left and end the thread."""
        self.stop()
        self._thread.join(timeout=120.0)
        _warned(self.run_now)

    def _loop(self) -> None:
        if self._driver.config.ingest == "thread":
            self.try_to_prepare()
            _warned(self._adopt)
        while not self._stop.wait(self._driver.config.ingest_interval_seconds):
            _warned(self.run_now)

    def _adopt(self) -> None:
        driver = self._driver
        with self._one_at_a_time, suppress(), jvm.tagged(driver.spark.sparkContext, driver.quiet_tag):
            adopted = adopt_dead_spools(driver.catalog, driver.config, driver.clock_source)
        for done in adopted:
            _tell_damage(done.ingested.damaged)
            if done.error is not None:
                warnings.warn(str(done.error), stacklevel=2)


def _tell_damage(files: Iterable[Path]) -> None:
    for file in files:
        warnings.warn(
            f"a segment of the spool is damaged and was set aside as {file}; its intact records are taken in,"
            " and `audit ingest` makes the others again when this driver has ended",
            RecordLossWarning,
            stacklevel=3,
        )


def _warned(run: Callable[[], object]) -> None:
    """The user's statements go on while the tables cannot be written: the records wait in the spool."""
    try:
        run()
    except AuditError as error:
        warnings.warn(str(error), stacklevel=2)
    except Exception as error:  # noqa: BLE001 - one that nobody foresaw must not end the thread
        warnings.warn(f"the ingest failed, and will be tried again: {error!r}", stacklevel=2)
