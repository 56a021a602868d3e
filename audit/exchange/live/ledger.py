"""What was sent to a receiver, on the disk of this machine.

In: statements and files of query_history. Out: which of them are new. A file of SQLite's beside the spool: it
is written when the receiver has answered, so that a crash between the two sends a statement twice, and never
none.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from audit.exchange.errors import SendingFailed

NAME = "openlineage.sqlite"
_KEPT = timedelta(days=31)
"""A statement that is older is sent again, if its record is written anew."""
_TABLES = """
CREATE TABLE IF NOT EXISTS receiver (url TEXT, since TEXT, sent INTEGER, error TEXT);
CREATE TABLE IF NOT EXISTS known_file (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS sent (query_id TEXT PRIMARY KEY, start_time TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS refused (query_id TEXT PRIMARY KEY, start_time TEXT, reason TEXT) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a receiver is.

    Attributes:
        since: statements that have started before are not sent.
        sent: statements that it has.
        refused: statements that it did not take.
        error: why the last round did not come to its end; None where it did.
    """

    since: datetime
    sent: int
    refused: int
    error: str | None


@dataclass(frozen=True, slots=True)
class Ledger:
    """An open ledger; what is noted is on disk when a call returns."""

    connection: sqlite3.Connection

    @property
    def progress(self) -> Progress:
        """How far the receiver is."""
        ((since, sent, error),) = self.connection.execute("SELECT since, sent, error FROM receiver")
        ((refused,),) = self.connection.execute("SELECT count(*) FROM refused")
        return Progress(datetime.fromisoformat(since), sent, refused, error)

    def new_files(self, paths: Iterable[str]) -> list[str]:
        """Those whose statements may not have been sent."""
        known = {path for (path,) in self.connection.execute("SELECT path FROM known_file")}
        return [path for path in paths if path not in known]

    def not_sent(self, query_ids: Iterable[str]) -> set[str]:
        """Those of some statements that the receiver has neither taken nor refused."""
        asked = "SELECT 1 FROM sent WHERE query_id = ?1 UNION ALL SELECT 1 FROM refused WHERE query_id = ?1"
        return {one for one in query_ids if self.connection.execute(asked, (one,)).fetchone() is None}

    def note_sent(self, statements: Iterable[tuple[str, datetime]]) -> None:
        """The receiver has these."""
        rows = [(query_id, at.isoformat()) for query_id, at in statements]
        with self.connection:
            self.connection.executemany("INSERT OR IGNORE INTO sent VALUES (?, ?)", rows)
            self.connection.execute("UPDATE receiver SET sent = sent + ?", (len(rows),))

    def note_refused(self, query_id: str, at: datetime, reason: str) -> None:
        """The receiver will never take this one."""
        with self.connection:
            self.connection.execute(
                "INSERT OR IGNORE INTO refused VALUES (?, ?, ?)", (query_id, at.isoformat(), reason)
            )

    def note_round(self, files: Iterable[str] | None, now: datetime, error: str | None = None) -> None:
        """A round has ended.

        Args:
            files: those that query_history has, all of whose statements were sent; None where some were not.
            now: what is much older is forgotten.
            error: why some were not.
        """
        with self.connection:
            self.connection.execute("UPDATE receiver SET error = ?", (error,))
            if files is not None:
                self.connection.execute("DELETE FROM known_file")
                self.connection.executemany("INSERT INTO known_file VALUES (?)", ((one,) for one in files))
                self.connection.execute("DELETE FROM sent WHERE start_time < ?", ((now - _KEPT).isoformat(),))


@contextmanager
def read(home: Path, url: str) -> Iterator[Ledger | None]:
    """The ledger of a receiver, to be read alone; None where nothing was sent to it.

    Args:
        home: the folder of the spool.
        url: of the receiver.

    Raises:
        SendingFailed: the file cannot be read.
    """
    path = home / NAME
    if not path.is_file():
        yield None
        return
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=60.0)
        ) as connection:
            known = connection.execute("SELECT 1 FROM receiver WHERE url = ?", (url,)).fetchone()
            yield None if known is None else Ledger(connection)
    except sqlite3.Error as error:
        raise SendingFailed(
            f"the ledger {path} cannot be read ({error})", "let this user read it and its folder"
        ) from error


@contextmanager
def opened(home: Path, url: str, now: datetime, files: Iterable[str] = ()) -> Iterator[Ledger]:
    """The ledger of a receiver; another one begins anew, with what is recorded from now on.

    Args:
        home: the folder of the spool, on a disk of this machine.
        url: of the receiver.
        now: the present, UTC without a zone.
        files: what query_history has at this time.

    Raises:
        SendingFailed: the file cannot be written.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(home / NAME, timeout=60.0, check_same_thread=False)) as connection:
            connection.executescript(_TABLES)
            if connection.execute("SELECT 1 FROM receiver WHERE url = ?", (url,)).fetchone() is None:
                _begin(connection, url, now, files)
            yield Ledger(connection)
    except (sqlite3.Error, OSError) as error:
        raise SendingFailed(
            f"the ledger {home / NAME} cannot be written ({error})",
            "give this user write permission there, or room on that disk",
        ) from error


def _begin(connection: sqlite3.Connection, url: str, now: datetime, files: Iterable[str]) -> None:
    with connection:
        for table in ("receiver", "known_file", "sent", "refused"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our own names
        connection.execute("INSERT INTO receiver VALUES (?, ?, 0, NULL)", (url, now.isoformat()))
        connection.executemany("INSERT INTO known_file VALUES (?)", ((one,) for one in files))


@contextmanager
def sender_lock(home: Path) -> Iterator[bool]:
    """One sender on this machine at a time; gives whether it is this one."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / f"{NAME}.lock").open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
