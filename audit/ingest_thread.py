"""The driver's own ingest: a thread that takes records in when it is time, asked, or over.

In: the driver's spool. Out: rows in the audit tables. With `ingest = "external"` nothing runs here but
on `flush`, which then seals what is spooled for `audit ingest` to find.
"""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

from audit import jvm
from audit.adopt import adopt_dead_spools
from audit.errors import AuditError
from audit.identity import suppress
from audit.ingest import Ingested, ingest_folder

if TYPE_CHECKING:
    from audit.driver import Driver


class IngestThread:
    """Sleeps for the configured interval, then rotates the spool and takes in what is sealed."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._stop = threading.Event()
        self._one_at_a_time = threading.Lock()
        self._thread: threading.Thread | None = None
        if driver.config.ingest == "thread":
            self._thread = threading.Thread(target=self._loop, name="audit-ingest", daemon=True)
            self._thread.start()

    def run_now(self) -> Ingested:
        """Take in everything that is on record; returns when it is committed."""
        driver = self._driver
        with self._one_at_a_time, suppress(), jvm.tagged(driver.spark, driver.quiet_tag):
            driver.spool.rotate()
            if driver.config.ingest == "external":
                return Ingested()
            return ingest_folder(driver.spark, driver.spool.path, driver.config.root)

    def close(self) -> None:
        """Take in what is left and end the thread."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=120.0)
        self._run_warned()

    def _loop(self) -> None:
        self._adopt_warned()
        while not self._stop.wait(self._driver.config.ingest_interval_seconds):
            self._run_warned()

    def _run_warned(self) -> None:
        try:
            self.run_now()
        except AuditError as error:
            warnings.warn(str(error), stacklevel=2)

    def _adopt_warned(self) -> None:
        try:
            with suppress(), jvm.tagged(self._driver.spark, self._driver.quiet_tag):
                adopt_dead_spools(self._driver.spark, self._driver.config, self._driver.clock_source)
        except AuditError as error:
            warnings.warn(str(error), stacklevel=2)
