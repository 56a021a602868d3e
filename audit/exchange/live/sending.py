"""One round of sending: all statements that are in the tables and were not sent yet, oldest first.

In: the audit tables of a root, the ledger, a receiver. Out: how many were sent, how many wait. A round holds
a few hundred statements at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby
from typing import TYPE_CHECKING

from audit.core.json_text import to_json
from audit.exchange.catalog import CatalogFacts
from audit.exchange.errors import SendingFailed
from audit.exchange.history import recorded_between
from audit.exchange.live import ledger as ledgers
from audit.exchange.live.ledger import Ledger
from audit.exchange.live.receiver import NotNow, Receiver, Refused, receiver_of
from audit.exchange.names import DatasetNames
from audit.exchange.opened_tables import opened_table
from audit.exchange.openlineage.events import Exporting
from audit.query.tables import opened
from audit.store.tables import QUERY_HISTORY

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from audit.core.config import Config
    from audit.exchange.history import RecordedStatement
    from audit.query.answer import Source

_AT_ONCE = 500
_COLUMNS = ["query_id", "start_time", "execution_status", "query_type"]
Waiting = list[tuple[str, datetime]]


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of a round.

    Attributes:
        sent: statements that the receiver has taken.
        refused: those that it never takes.
        waiting: those that are still to be sent.
        error: why they are.
    """

    sent: int = 0
    refused: int = 0
    waiting: int = 0
    error: str | None = None


def send_waiting(
    config: Config,
    now: datetime,
    receiver: Receiver | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Sent:
    """Send what waits; does nothing where another sender of this machine is at it.

    Args:
        config: names the receiver by `openlineage_url`.
        now: UTC without a zone.
        receiver: takes the events; that of the configuration by default.
        stopped: asked between statements; True ends the round.

    Raises:
        QueryFailed: a table lacks a column.
        SendingFailed: the ledger cannot be written, or delta-rs cannot read the root.
        TableUnreadable: a file of a table is damaged, or gone.
    """
    with ledgers.sender_lock(config.spool_home) as is_ours:
        if not is_ours:
            return Sent()
        table = query_history(config.root)
        files = [] if table is None else table.file_uris()
        with ledgers.opened(config.spool_home, config.openlineage_url, now, files) as ledger:
            waiting = waiting_statements(table, ledger)
            if not waiting:
                ledger.note_round(files, now)
                return Sent()
            with (
                closing(receiver or receiver_of(config.openlineage_url)) as to,
                opened(config.root, config.schema) as source,
            ):
                done = _Round(ledger, to, _exporting(source, config), stopped).send(source, waiting)
            ledger.note_round(None if done.waiting else files, now, done.error)
            return done


def query_history(root: str) -> DeltaTable | None:
    """The table of statements; None where none was ingested yet.

    Raises:
        SendingFailed: delta-rs cannot read where it lies.
    """
    return opened_table(root, QUERY_HISTORY.name, SendingFailed, "send from")


def waiting_statements(table: DeltaTable | None, ledger: Ledger) -> Waiting:
    """The statements that have ended and were not sent, oldest first."""
    new = [] if table is None else ledger.new_files(table.file_uris())
    if table is None or not new:
        return []
    found = {query_id: at for query_id, at in _rows(table, new) if at >= ledger.progress.since}
    kept = ledger.not_sent(found)
    return sorted(((query_id, found[query_id]) for query_id in kept), key=lambda one: (one[1], one[0]))


def _rows(table: DeltaTable, files: list[str]) -> Iterator[tuple[str, datetime]]:
    """The statements in some files of query_history that have ended, with their start, UTC without a zone."""
    import pyarrow as pa
    from pyarrow.dataset import ParquetReadOptions

    # Spark writes INT96, which has nanoseconds if nobody says otherwise.
    options = ParquetReadOptions(coerce_int96_timestamp_unit="us")
    wanted = {one.rpartition("/")[2] for one in files}
    for fragment in table.to_pyarrow_dataset(parquet_read_options=options).get_fragments():
        if fragment.path.rpartition("/")[2] not in wanted:
            continue
        rows = fragment.to_table(columns=_COLUMNS)
        at = rows.schema.get_field_index("start_time")
        rows = rows.set_column(at, "start_time", rows.column(at).cast(pa.timestamp("us", "UTC")))
        for row in rows.to_pylist():
            is_statement = not row["query_type"].startswith("AUDIT_") and row["query_type"] != "GAP"
            if is_statement and row["execution_status"] != "RUNNING":
                yield row["query_id"], row["start_time"].astimezone(timezone.utc).replace(tzinfo=None)


def _exporting(source: Source, config: Config) -> Exporting:
    return Exporting(source, DatasetNames.of(config), CatalogFacts.read(source))


@dataclass(slots=True)
class _Round:
    """Sends statements until all are sent, or the receiver takes no more."""

    ledger: Ledger
    receiver: Receiver
    exporting: Exporting
    stopped: Callable[[], bool]

    def send(self, source: Source, waiting: Waiting) -> Sent:
        sent, refused = 0, 0
        for day, of_day in groupby(waiting, key=lambda one: one[1].date()):
            rest = list(of_day)
            for at in range(0, len(rest), _AT_ONCE):
                part = dict(rest[at : at + _AT_ONCE])
                times = part.values()
                for statement in recorded_between(source, day, min(times), max(times)):
                    if statement.query_id not in part:
                        continue
                    left = len(waiting) - sent - refused
                    if self.stopped():
                        return Sent(sent, refused, left)
                    try:
                        took = self._one(statement)
                    except NotNow as error:
                        return Sent(sent, refused, left, str(error))
                    sent, refused = sent + took, refused + (not took)
        return Sent(sent, refused)

    def _one(self, statement: RecordedStatement) -> bool:
        """Whether the receiver has taken a statement."""
        at: datetime = statement.query["start_time"]
        events = [to_json(event) for event in self.exporting.events([statement])]
        try:
            self.receiver.send(events)
        except Refused as error:
            self.ledger.note_refused(statement.query_id, at, str(error))
            return False
        self.ledger.note_sent([(statement.query_id, at)])
        return True
