"""How far a receiver is behind, for `audit status`.

In: a configuration with `openlineage_url`. Out: what it has, what waits. Nothing is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.exchange.live import ledger as ledgers
from audit.exchange.live.sending import query_history, waiting_statements

if TYPE_CHECKING:
    from audit.core.config import Config


@dataclass(frozen=True, slots=True)
class ReceiverState:
    """How far a receiver is.

    Attributes:
        said: in words.
        sent: statements that it has.
        waiting: statements that were ingested and not sent yet.
    """

    said: str
    sent: int
    waiting: int


def receiver_state(config: Config) -> ReceiverState:
    """The state of the receiver that a configuration names.

    Raises:
        SendingFailed: the ledger cannot be read, or delta-rs cannot read the root.
    """
    with ledgers.read(config.spool_home, config.openlineage_url) as ledger:
        if ledger is None:
            return ReceiverState("nothing was sent yet", 0, 0)
        progress = ledger.progress
        waiting = len(waiting_statements(query_history(config.root), ledger))
    words = progress.error or ("behind" if waiting else "has all")
    if progress.refused:
        words += f"; has refused {progress.refused:,} statements"
    return ReceiverState(words, progress.sent, waiting)
