"""What passes from the caller's thread to the worker: intents before a statement runs, jobs after it.

In: nothing. Out: values. They stand apart so that the front door, the worker and the streams know
them without knowing each other.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import lineage
from audit.analysis.spark_catalog import CatalogFacts, CatalogSnapshot
from audit.analysis.untagged import Claim
from audit.identity import Lineal
from audit.record import Ended, Started
from lineage.model import Attachment, Relation
from policies.state import State

Attachments = Callable[[Relation], Sequence[Attachment]]
"""The policies in force on a relation."""


@dataclass(slots=True)
class Stream:
    """A stream that this driver started, with the ids of its micro-batches.

    `token` is who started it, as the policies know them.
    """

    started: Started | None = None
    target: Relation | None = None
    catalog: CatalogSnapshot | None = None
    token: str | None = None
    batch_ids: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamIntent:
    """What the worker needs of a start: the stream, the table it goes to, the query once it runs."""

    stream: Stream
    table: str | None
    queries: list[Any]

    @property
    def location(self) -> str | None:
        """Where the sink writes, None for one without a place (console, memory, foreachBatch)."""
        if not self.queries:
            return None
        sink = str(self.queries[0]._jsq.streamingQuery().sink())
        found = re.fullmatch(r"(?:DeltaSink|FileSink)\[(.*)\]", sink)
        return found.group(1) if found else None


@dataclass(frozen=True, slots=True)
class Intent:
    """What is about to run: SQL text, or a call on a DataFrame, writer or Delta table."""

    text: str
    query_type: str
    action: str
    statement: lineage.Statement | None = None
    query_execution: Callable[[], Any] | None = None
    rows: Callable[[Any], int | None] = lambda _result: None
    changes_session: bool = False
    claim: Claim | None = None
    stream: StreamIntent | None = None
    procedure: str | None = None
    lineal: list[Lineal] = field(default_factory=list)
    parent: Lineal | None = None
    objects_tried: tuple[str, ...] = ()

    @property
    def is_reading(self) -> bool:
        """Whether it only hands a result over, and changes nothing."""
        return self.query_type == "SELECT" and not self.changes_session


@dataclass(slots=True)
class Waited:
    """A caller waits until the worker is through with a statement.

    `problem` is why its tags may not have been propagated; None once they have been.
    """

    done: threading.Event = field(default_factory=threading.Event)
    problem: str | None = "the worker has ended, or failed: audit.coverage tells its failures"


@dataclass(frozen=True, slots=True)
class Job:
    """A statement that has ended and waits for its record.

    `governance` is as it was when the statement ran, and `attachments` are the policies of that moment, with
    what each came to for whoever ran it: for them `token` stands.
    """

    intent: Intent
    started: Started
    ended: Ended
    catalog: CatalogSnapshot
    before: CatalogFacts | None
    after: CatalogFacts | None
    governance: State
    attachments: Attachments
    token: str | None = None
    waited: Waited | None = None
