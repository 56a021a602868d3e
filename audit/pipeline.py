"""The stages of a statement between the parser and Spark, in order.

In: a parsed statement and the services of its application. Out: the handlers of the stages that answer it,
the first one outermost; a statement that no stage answers is run by Spark alone.

    parse → STAGES → start on disk → handlers, then Spark → end on disk → trace → record → ingest

A stage decides from the typed statement whether it applies; a plain query costs nothing more. Its work is a
handler, which runs after the statement's START: a refusal is recorded as DENIED, a failure as FAIL. A handler
gets the session, the text, who runs it, and `run`, which is the next handler or Spark. It returns a
DataFrame.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from audit.copy_into import run_copy
from audit.core.job_tags import SUPPRESS_TAG
from audit.spark.pyspark_api import job_tags
from lineage.model import Domain
from lineage.sql.commands.backups.statements import BackupStatement
from lineage.sql.commands.time_travel.drop import Drop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.actor import Actor
    from audit.services import Services
    from audit.spark.handler import Handler, Run
    from audit.time_travel.clones.staged_create import StagedTable
    from lineage import Statement


class Stage(Protocol):
    """One stage."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """The stage's handler for a statement; None if the stage does not apply."""
        ...


class CopyInto:
    """COPY INTO, which Spark lacks: a read and a write of Spark's."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """Answers COPY INTO, in both directions."""
        del services
        if statement.statement_type not in ("COPY", "UNLOAD") or statement.tree is None:
            return None
        return lambda spark, _text, _actor, _run: run_copy(spark, statement)


class PastVersions:
    """AT | BEFORE, `VERSION AS OF`, `t@v3`: the text gets the versions that they stand for."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """Rewrites a text that reads versions."""
        travel = services.time_travel
        if not travel.reads_versions(statement):
            return None

        def handler(spark: SparkSession, _text: str, _actor: Actor, run: Run) -> Any:
            with travel.at_versions(spark, statement) as sent:
                return run(spark, sent)

        return handler


class PoliciesStage:
    """Masking and row access policies, tags, roles, grants."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """Runs statements about governance, and checks their privileges."""
        return services.policies.handler_for(statement, partial(self._staged, services))

    @staticmethod
    def _staged(services: Services, spark: SparkSession, text: str, run: Run) -> StagedTable | None:
        """Stage a table, which gets its policies before it has a name."""
        quiet = partial(job_tags.tagged, spark.sparkContext, SUPPRESS_TAG)
        found = services.time_travel.creation.stage_table(spark, text, run, quiet)
        if found is not None:
            for session in services.sessions.living():
                session.catalog.note_staged_table(found.place, found.name)
        return found


class BackupsStage:
    """Backup policies, backup sets, backups, and what is created from one."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """Runs statements about backups, and refuses to drop a schema that has locked ones."""
        typed = statement.typed
        if isinstance(typed, BackupStatement):
            return lambda spark, _text, actor, _run: services.backups.run(typed, spark, actor)
        if isinstance(typed, Drop) and typed.domain is Domain.SCHEMA:
            return partial(services.backups.drop_schema, typed)
        return None


class TimeTravelStage:
    """DROP and UNDROP, CLONE, RESTORE, retention, VACUUM, SHOW … HISTORY."""

    def handler_for(self, statement: Statement, services: Services) -> Handler | None:
        """Runs statements about Time Travel, and guards those that would delete old versions."""
        return services.time_travel.handler_for(statement)


# A stage hands its session and its text to the next one: policies and Time Travel see the resolved versions.
STAGES: tuple[Stage, ...] = (
    CopyInto(),
    PastVersions(),
    PoliciesStage(),
    BackupsStage(),
    TimeTravelStage(),
)


def handlers_of(statement: Statement, services: Services) -> tuple[Handler, ...]:
    """The handlers for a statement, in the order of the stages; () if Spark alone runs it."""
    found = (stage.handler_for(statement, services) for stage in STAGES)
    return tuple(handler for handler in found if handler is not None)


def chained(handlers: Sequence[Handler], actor: Actor, run: Run) -> Run:
    """Spark's way of running a text, with handlers around it, the first one outermost."""
    # Built from the inside outwards.
    for handler in reversed(handlers):
        run = _around(handler, actor, run)
    return run


def _around(handler: Handler, actor: Actor, run: Run) -> Run:
    return lambda spark, text: handler(spark, text, actor, run)
