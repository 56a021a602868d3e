"""Checks the log of digests itself: its entries, its signatures, and what others hold of it.

In: entries as the table has them, a key, checkpoints that were kept elsewhere. Out: what is wrong, in words.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from audit.core.clock import from_iso
from audit.evidence.bind import INTERVAL
from audit.evidence.checkpoint import Checkpoint
from audit.evidence.entries import Entry
from audit.evidence.errors import EvidenceError
from audit.evidence.merkle import Frontier, leaf_hash
from audit.evidence.signed_note import Verifier

_QUIET = 2 * INTERVAL // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Anchor:
    """A checkpoint that was kept elsewhere: where, and its signed note."""

    where: str
    note: str


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What the log of digests is worth.

    Attributes:
        said: what its entries say, by their place; {} for one that cannot be read.
        faults: what is wrong, in words.
        gaps: when no entry came although a driver ran, in words.
        key: the one that its entries are signed with first; None for a log without a readable beginning.
        is_known: whether whoever checks knew that key; else the log itself names it.
    """

    said: Sequence[dict[str, Any]]
    faults: Sequence[str]
    gaps: Sequence[str]
    key: Verifier | None
    is_known: bool


def check_log(entries: Sequence[Entry], key: Verifier | None, anchors: Iterable[Anchor]) -> LogCheck:
    """Check the log.

    Args:
        entries: by sequence, as the table has them.
        key: that of who began the log; None: the one that its first entry names.
        anchors: checkpoints that others hold.
    """
    begun_by = key or _first_key(entries)
    walk = _Walk({} if begun_by is None else {begun_by.key_id: begun_by})
    for entry in entries:
        if not walk.takes(entry):
            break
    for anchor in anchors:
        walk.compare(anchor, len(entries))
    return LogCheck(walk.said, walk.faults, list(_gaps(walk.said)), begun_by, key is not None)


class _Walk:
    """The log up to an entry, and the keys that have been vouched for."""

    def __init__(self, known: dict[bytes, Verifier]) -> None:
        self.known = known
        self.said: list[dict[str, Any]] = []
        self.faults: list[str] = []
        self._tree = Frontier()
        self._roots: list[bytes] = []
        self._origin = ""

    def takes(self, entry: Entry) -> bool:
        """Look at the next entry; whether what comes behind it can be checked, too."""
        place = self._tree.size
        if entry.sequence != place:
            self._fault(place, "is gone" if entry.sequence > place else "stands twice")
            return False
        self._tree = self._tree.with_leaf(leaf_hash(entry.body.encode()))
        self._roots.append(self._tree.root)
        said = _said(entry)
        self.said.append(said)
        if not said:
            self._fault(place, "cannot be read")
        return self._is_signed(entry, said)

    def _is_signed(self, entry: Entry, said: dict[str, Any]) -> bool:
        signed = self._signed(entry.checkpoint)
        if isinstance(signed, str):
            self._fault(entry.sequence, f"has no valid signature: {signed}")
            return True
        self._origin = self._origin or signed.origin
        if (signed.origin, signed.size) != (self._origin, self._tree.size):
            self._fault(entry.sequence, "has the signature of another one")
        elif signed.root != self._tree.root:
            # All before it are what was signed: so this one is not.
            self._fault(entry.sequence, "was altered: it is not what was signed")
            return False
        if said.get("kind") == "KEY":
            self._learn(entry.sequence, str(said.get("key")))
        if said.get("kind") == "BROKEN":
            self.faults.append(
                f"before {said.get('time')} the log of digests was cut off, or exchanged: a driver held a"
                " checkpoint of more entries, or of others"
            )
        return True

    def _signed(self, note: str) -> Checkpoint | str:
        """The checkpoint of a note that a known key has signed, or why there is none."""
        found = [_checkpoint(note, key) for key in self.known.values()]
        valid = [one for one in found if isinstance(one, Checkpoint)]
        return (valid or found or ["nobody's key is known"])[0]

    def _learn(self, place: int, text: str) -> None:
        try:
            key = Verifier.parse(text)
        except EvidenceError as error:
            self._fault(place, f"names no key: {error.problem}")
            return
        self.known[key.key_id] = key

    def compare(self, anchor: Anchor, entries: int) -> None:
        """Look at a checkpoint that was kept elsewhere."""
        signed = self._signed(anchor.note)
        if isinstance(signed, str):
            self.faults.append(f"the checkpoint of {anchor.where} is none of this log's: {signed}")
        elif self._origin and signed.origin != self._origin:
            self.faults.append(f"the checkpoint of {anchor.where} is of another log: {signed.origin}")
        elif signed.size > entries:
            self.faults.append(
                f"the log of digests was cut off: it has {entries:,} entries, and had {signed.size:,} at the"
                f" checkpoint of {anchor.where}"
            )
        elif signed.size <= len(self._roots) and signed.size and self._roots[signed.size - 1] != signed.root:
            self.faults.append(
                f"the first {signed.size:,} entries of the log of digests are not those of the checkpoint of"
                f" {anchor.where}"
            )

    def _fault(self, place: int, what: str) -> None:
        self.faults.append(f"entry {place} of the log of digests {what}")


def _gaps(said: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The times without an entry that are longer than two intervals, and in which a driver ran.

    One that has entries before and after such a time: it was suspended, or its entries are not there.
    """
    last_of = {_driver(one): place for place, one in enumerate(said)}
    running: set[str] = set()
    for place, (one, following) in enumerate(itertools.pairwise(said)):
        running.add(_driver(one))
        times = [str(each.get("time", "")) for each in (one, following)]
        if not all(times) or from_iso(times[1]) - from_iso(times[0]) <= _QUIET:
            continue
        drivers = sorted(driver for driver in running if driver and last_of[driver] > place)
        if drivers:
            yield f"no entry from {times[0]} to {times[1]}, although driver {', '.join(drivers)} ran"


def _driver(said: dict[str, Any]) -> str:
    """The driver whose entry it is; "" where it does not say."""
    return str(said.get("driver") or str(said.get("batch", "")).partition("/")[0])


def _checkpoint(note: str, key: Verifier) -> Checkpoint | str:
    try:
        return Checkpoint.parse(note, key)
    except EvidenceError as error:
        return error.problem


def _said(entry: Entry) -> dict[str, Any]:
    try:
        return entry.said()
    except ValueError:
        return {}


def _first_key(entries: Sequence[Entry]) -> Verifier | None:
    """The key that the first entry names."""
    try:
        return Verifier.parse(str(_said(entries[0]).get("key"))) if entries else None
    except EvidenceError:
        return None
