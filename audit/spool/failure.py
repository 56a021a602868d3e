"""Errors of writing the spool: one clear error, or a warning and a counted loss.

In: the OSError of a write, an fsync or a rename, and what `on_record_failure` says. Out: a
`SpoolUnavailableError` that names the path and the way out, or a warning once per cause and, as soon
as writing works again, a gap entry. Its `query` is a row of query_history (`query_type` GAP), so that ingest
brings the loss where an auditor looks; what recovery finds damaged or orphaned comes there as well.
"""

from __future__ import annotations

import contextlib
import errno
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any

from audit.core.errors import RecordLossWarning, SpoolFullError, SpoolUnavailableError
from audit.core.json_text import to_json
from audit.spool.entry import encode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from audit.spool.entry import Kind

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Errors of a write that leave the file intact."""

_WAYS_OUT = {
    errno.ENOSPC: "free space on that disk",
    errno.EDQUOT: "free space within the quota of that disk",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EROFS: "mount that file system writable, or choose another root",
    errno.EACCES: "give this user write permission there, or choose another root",
    errno.EPERM: "give this user write permission there, or choose another root",
    errno.ENOENT: "it is gone, or cannot be made there: attach the audit again, or choose another root",
}


class BoundReachedError(OSError):
    """The spool's size limit, as an OSError like that of a file-system quota."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(errno.EDQUOT, f"its bound of {max_bytes:,} bytes is reached")


def cause_of(error: OSError) -> str:
    """The name under which a cause is warned of once and counted.

    Example:
        >>> cause_of(OSError(28, "No space left on device")), cause_of(BoundReachedError(10))
        ('ENOSPC', 'max_bytes')
    """
    if isinstance(error, BoundReachedError):
        return "max_bytes"
    return errno.errorcode.get(error.errno or 0, "OSError")


def unavailable(path: Path, error: OSError) -> SpoolUnavailableError:
    """The error that a user sees for an OSError at `path`."""
    # Tested first: its errno is that of a disk quota, with another way out.
    if isinstance(error, BoundReachedError):
        way_out = "run `audit ingest`, or raise spool_max_bytes"
        return SpoolFullError(f"the spool {path} takes no more: {error.strerror}", way_out)
    way_out = _WAYS_OUT.get(error.errno or 0, "check the disk, or choose another root")
    return SpoolUnavailableError(f"the spool {path} cannot be used ({error.strerror or error})", way_out)


@contextlib.contextmanager
def spool_errors(path: Path) -> Iterator[None]:
    """Turns an OSError of the block into a SpoolUnavailableError that names `path`."""
    try:
        yield
    except OSError as error:
        raise unavailable(path, error) from error


class Losses:
    """Statements whose entries were refused since the last gap entry, and the warnings given.

    Only those that nothing else brings back: a statement whose start is journaled is completed by
    recovery. Not thread-safe.
    """

    __slots__ = ("_causes", "_queries", "_records", "_since", "_warned")

    def __init__(self) -> None:
        self._queries: set[str] = set()
        self._records: set[str] = set()
        self._causes: Counter[str] = Counter()
        self._warned: set[str] = set()
        self._since = ""

    def __len__(self) -> int:
        return len(self._queries)

    def add(self, kind: Kind, query_id: str, cause: str, at: str) -> None:
        """Counts a refused start or record; the others matter only beside a journaled start."""
        if kind not in ("S", "R"):
            return
        self._since = self._since or at
        self._queries.add(query_id)
        self._causes[cause] += 1
        if kind == "R":
            self._records.add(query_id)

    def recorded(self, query_id: str) -> None:
        """A statement whose record got through after all is not lost."""
        self._queries.discard(query_id)
        self._records.discard(query_id)
        if not self._queries:
            self.clear()  # the outage is over: the next one is warned of again

    def warn(self, error: SpoolUnavailableError, cause: str) -> None:
        """Warns, once per cause and outage."""
        if cause not in self._warned:
            self._warned.add(cause)
            text = f"statements run unrecorded: {error} (said once for {cause})"
            warnings.warn(text, RecordLossWarning, stacklevel=5)

    def gap(self, at: str) -> dict[str, Any]:
        """The payload of the gap entry.

        `queries` counts statements that lost an entry and have no start in the journal; `records`
        those of them whose record is among the lost. A statement counted in the first alone may
        yet get its record.
        """
        return {
            "gap": "refused",
            "since": self._since,
            "until": at,
            "queries": len(self._queries),
            "records": len(self._records),
            "causes": dict(self._causes),
        }

    def clear(self) -> None:
        """Forgets what a gap entry now tells."""
        self.__init__()  # type: ignore[misc]


def gap_line(gap_id: str, payload: Mapping[str, Any]) -> bytes:
    """The line of a gap.

    Args:
        gap_id: a query id of its own.
        payload: `gap` (refused, damaged or orphaned), `since` and `until` as ISO 8601, and the counts.
    """
    row = {
        "query_id": gap_id,
        "start_time": payload["since"],
        "end_time": payload["until"],
        "user_name": "audit",
        "query_text": to_json(dict(payload)).decode(),
        "query_type": "GAP",
        "action": "audit",
        # Not SUCCESS: `audit verify` would miss its record in access_history.
        "execution_status": "INCOMPLETE",
        "error_code": f"AUDIT_GAP_{payload['gap'].upper()}",
        "error_message": _message(payload),
    }
    return encode("G", gap_id, {**payload, "query": row})


def _message(payload: Mapping[str, Any]) -> str:
    """One sentence.

    >>> _message({"gap": "refused", "queries": 2, "causes": {"ENOSPC": 3}})
    '2 statements may have run without a record: the spool could not be written (ENOSPC)'
    """
    if payload["gap"] == "refused":
        causes = ", ".join(payload["causes"])
        lost = "statements may have run without a record: the spool could not be written"
        return f"{payload['queries']} {lost} ({causes})"
    files = ", ".join(payload.get("files", ())) or "none"
    return (
        f"a part of the spool was damaged (set aside: {files}); of {payload.get('queries', 0)} statements"
        " nothing but their end was readable"
    )
