"""The driver's own ingest: a thread that takes records in when it is time, asked, or over.

In: the driver's spool. Out: rows in the audit tables. With `ingest = "external"` nothing runs here but
on `flush`, which then seals what is spooled for `audit ingest` to find.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from audit import jvm
from audit.adopt import adopt_dead_spools
from audit.errors import AuditError
from audit.identity import suppress
from audit.ingest import Ingested, ingest_folder
from audit.tables import create_tables, register_tables

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
        """Create and register the audit tables, once; returns when they can be named in SQL."""
        driver = self._driver
        with self._one_at_a_time:
            if self._ready:
                return
            with suppress(), jvm.tagged(driver.spark, driver.quiet_tag):
                create_tables(driver.spark, driver.config.root)
                register_tables(driver.spark, driver.config.root, driver.config.schema)
            self._ready = True

    def run_now(self) -> Ingested:
        """Take in everything that is on record; returns when it is committed."""
        driver = self._driver
        self.prepare()
        with self._one_at_a_time, suppress(), jvm.tagged(driver.spark, driver.quiet_tag):
            driver.spool.rotate()
            if driver.config.ingest == "external":
                return Ingested()
            return ingest_folder(driver.spark, driver.spool.path, driver.config.root)

    def close(self) -> None:
        """Take in what is left and end the thread."""
        self._stop.set()
        self._thread.join(timeout=120.0)
        _warned(self.run_now)

    def _loop(self) -> None:
        _warned(self.prepare)
        if self._driver.config.ingest == "thread":
            _warned(self._adopt)
            while not self._stop.wait(self._driver.config.ingest_interval_seconds):
                _warned(self.run_now)

    def _adopt(self) -> None:
        driver = self._driver
        with self._one_at_a_time, suppress(), jvm.tagged(driver.spark, driver.quiet_tag):
            adopt_dead_spools(driver.catalog, driver.config, driver.clock_source)


def _warned(run: Callable[[], object]) -> None:
    """The user's statements go on while the tables cannot be written: the records wait in the spool."""
    try:
        run()
    except AuditError as error:
        warnings.warn(str(error), stacklevel=2)
