"""Records the statements of one application: spool, listener, worker, ingest thread.

In: the services of a root. Out: records, in order: START and END on disk by the caller's thread, the record
by the worker's, rows in the audit tables by the ingest thread's. All are opened and closed together.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from contextlib import ExitStack
from typing import TYPE_CHECKING

from audit.analysis.analyst import Analyst
from audit.analysis.child_statements import ExecutionRows, Issuer
from audit.analysis.execution_claims import ExecutionClaims
from audit.analysis.running_statements import RunningStatements
from audit.analysis.streams import Streams
from audit.analysis.tag_propagation import TagPropagation
from audit.analysis.worker import Worker
from audit.core.config import tagging_of
from audit.core.errors import IngestError, RecordLossWarning
from audit.core.job_tags import QUIET_TAGS, STATEMENT_TAG
from audit.ingest.thread import IngestThread
from audit.record.aggregation import Aggregation
from audit.spark import sessions
from audit.spark.plans.events import EventQueue
from audit.spark.plans.executions import Executions

if TYPE_CHECKING:
    from audit.core.clock import Clock
    from audit.services import Services
    from audit.spool import Spool

_FLUSH_SECONDS = 600.0


class Recorder:
    """The threads and files of one application.

    Args:
        services: of its root.
        spool: open; it is closed with the recorder.
        clock: UTC microseconds.
        former: roots that this process has detached from.
    """

    def __init__(self, services: Services, spool: Spool, clock: Clock, former: Collection[str] = ()) -> None:
        config, context = services.config, services.spark.sparkContext
        self.spool = spool
        self._context = context
        self._application_id = services.application_id
        self.running = RunningStatements()
        self.executions = (
            Executions(EventQueue(context, "audit"), STATEMENT_TAG, QUIET_TAGS, self.running.knows)
            if config.listener
            else None
        )
        self.claims = ExecutionClaims()
        self.analyst = Analyst(
            services.plans,
            services.redaction,
            services.failures,
            listening=config.listener,
            cross_check=config.cross_check,
        )
        self.tags = TagPropagation(
            services.policies,
            services.clock,
            services.new_id,
            services.failures,
            enabled=config.propagate_tags,
        )
        self.streams = Streams(
            self.analyst, self.tags, services.policies, services.redaction, services.new_id
        )
        rows = ExecutionRows(
            self.analyst,
            self.tags,
            services.policies,
            services.redaction,
            services.sessions,
            services.catalog,
            services.new_id,
            services.application_id,
            Issuer(config.user, services.origin, tagging_of(config)),
        )
        self.worker = Worker(
            context,
            spool,
            self.executions,
            self.claims,
            self.analyst,
            self.tags,
            rows,
            self.streams,
            services.redaction,
            Aggregation.of(config.aggregated_tables),
            services.failures,
        )
        self.ingest = IngestThread(services.spark, spool, config, services.catalog, clock, former)

    def flush(self) -> None:
        """Return when everything recorded so far is in the tables.

        Raises:
            IngestError: the worker is that far behind, or the tables could not be written.
        """
        if not self.worker.drain(_FLUSH_SECONDS):
            raise IngestError(
                f"the records of {self._application_id} were not made within {_FLUSH_SECONDS:.0f} seconds",
                "they are safe in the spool; call audit.flush again when Spark is less busy",
            )
        self.ingest.run_now()
        if not self.worker.refused:
            return
        # Again: records that a full spool refused can be written after the ingest.
        if not self.worker.drain(_FLUSH_SECONDS) or self.worker.refused:
            raise IngestError(
                f"{self.worker.refused} records of {self._application_id} wait for the spool, which cannot be"
                " written",
                "free space on its disk, or raise spool_max_bytes, and call audit.flush again",
            )
        self.ingest.run_now()

    def close(self) -> None:
        """Finish and ingest the records, free the spool: every step, even after an error of another."""
        with ExitStack() as steps:  # from the last one up
            steps.callback(self.spool.close)
            # An ExitStack calls its steps in reverse: records are finished, ingested, then the listener and
            # the spool closed.
            if sessions.is_running(self._context):
                if self.executions is not None:
                    steps.callback(self.executions.close)
                steps.callback(self.ingest.close)
                steps.callback(self._finish_records)
            else:
                # The context was stopped underneath: what is on record waits for the next driver.
                steps.callback(self.ingest.stop)
                steps.callback(self.worker.stop)

    def _finish_records(self) -> None:
        try:
            self.worker.drain()
        finally:
            self.worker.close()
        if self.worker.refused:
            text = f"{self.worker.refused} records are lost: {self.spool.path} cannot be written"
            warnings.warn(text, RecordLossWarning, stacklevel=2)
