"""Values that the caller's thread passes to the worker: intents before a statement runs, jobs after it.

In: nothing. Out: values. They have a module of their own, so that capture, worker and streams need not import
each other.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import lineage
from audit.analysis.execution_claims import ExecutionClaim
from audit.core.identity import Ancestry
from audit.policies.model.state import GovernanceState
from audit.record.access_record import Ended, Started
from audit.spark.catalog.session_catalog import CatalogFacts, CatalogSnapshot
from audit.spark.pyspark_api import frames
from lineage.model import Attachment, Domain, Relation
from lineage.sql.parameters import Arguments

Attachments = Callable[[Relation], Sequence[Attachment]]
"""The policies in force on a relation."""


# The kinds of objects that an event of governance makes.
_POLICIES = frozenset({Domain.MASKING_POLICY, Domain.ROW_ACCESS_POLICY, Domain.TAG})


@dataclass(slots=True)
class Stream:
    """A stream that this driver started, with the ids of its micro-batches.

    `root_query_id` is known while it starts, `started` when the worker has the start. `token` is the identity
    of the starting user, see `Enforcer.token`.
    """

    root_query_id: str | None = None
    started: Started | None = None
    target: Relation | None = None
    catalog: CatalogSnapshot | None = None
    token: str | None = None
    batch_ids: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """A stream that is being started: the stream, its target table, and Spark's query once it runs."""

    stream: Stream
    table: str | None
    query: Any | None = None

    @property
    def location(self) -> str | None:
        """The location of the sink; None for console, memory and foreachBatch."""
        if self.query is None:
            return None
        sink = frames.sink_of(self.query)
        # Only these two sinks have a location in their text (Spark 4.2, Delta 4.4).
        found = re.fullmatch(r"(?:DeltaSink|FileSink)\[(.*)\]", sink)
        return found.group(1) if found else None


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """A statement that is about to run: SQL text, or a call on a DataFrame, writer or Delta table.

    `arguments` are the values of the text's parameters; they stay in memory.
    """

    text: str
    query_type: str
    action: str
    statement: lineage.Statement | None = None
    query_execution: Callable[[], Any] | None = None
    rows: Callable[[Any], int | None] = lambda _result: None
    changes_session: bool = False
    claim: ExecutionClaim | None = None
    stream: StreamRequest | None = None
    procedure: str | None = None
    parent: Ancestry | None = None
    objects_tried: tuple[str, ...] = ()
    arguments: Arguments | None = None

    @property
    def is_reading(self) -> bool:
        """Whether it only returns a result and changes nothing."""
        return self.query_type == "SELECT" and not self.changes_session

    @property
    def is_about_policy(self) -> bool:
        """Whether it makes, changes or drops a policy or a tag."""
        command = None if self.statement is None else self.statement.command
        return command is not None and command.domain in _POLICIES


@dataclass(slots=True)
class RecordCompletion:
    """Lets a caller wait until the worker has recorded a statement.

    `problem` is why its tags may not have been propagated; None once they have been.
    """

    done: threading.Event = field(default_factory=threading.Event)
    problem: str | None = "the worker has ended, or failed: audit.coverage tells its failures"


@dataclass(frozen=True, slots=True)
class Job:
    """A finished statement that waits for its record.

    `governance` is as it was when the statement ran, and `attachments` are the policies of that moment, with
    what each came to for whoever ran it: for them `token` stands. `governed` is as it is after a statement
    about a policy or a tag, which has its id from its creation on.
    """

    request: StatementRequest
    started: Started
    ended: Ended
    catalog: CatalogSnapshot
    before: CatalogFacts | None
    after: CatalogFacts | None
    governance: GovernanceState
    attachments: Attachments
    token: str | None = None
    completion: RecordCompletion | None = None
    governed: GovernanceState | None = None
