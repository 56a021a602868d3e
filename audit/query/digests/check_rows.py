"""Checks the rows of audit tables against the log of digests: each as it was signed, none gone, none added.

In: what the log says of each table and day, the rows. Out: each row that is not as it was signed, by the id
of its statement or event. The rows of a day are read, made texts and hashed in one go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from audit.evidence.bound_tables import BOUND_TABLES, EVENT_TABLES
from audit.evidence.leaves import HASH_BYTES, Leaves, leaves_of_parts
from audit.evidence.merkle import root
from audit.evidence.row_texts import groups
from audit.query.answer import Source
from audit.store.tables import DIGESTS, QUERY_HISTORY

if TYPE_CHECKING:
    from audit.evidence.row_texts import Columns

GONE = "was signed and is not there; if an ingest was broken off, `audit ingest` brings it"
ALTERED = "was altered: it is not as it was signed"
INSERTED = "was inserted: nobody has signed it"


class Place(NamedTuple):
    """A table and a day of it, ISO 8601; "" for a table of events without days."""

    table: str
    day: str

    @property
    def where(self) -> str:
        """SQL for its rows.

        Raises:
            ValueError: the day is none.
        """
        return f"query_date = DATE '{date.fromisoformat(self.day)}'" if self.day else "true"


@dataclass(frozen=True, slots=True)
class Bound:
    """What an entry says of a place: how many leaves, their root, and the fingerprint of their columns."""

    sequence: int
    leaves: int
    root: str
    columns: str


@dataclass(slots=True)
class Expected:
    """What the log says of a place.

    Attributes:
        bound: by its entries, in their order.
        deleted: by entries whose rows retention has deleted since, or is about to.
        unbound: rows that were there before the log began.
    """

    bound: list[Bound] = field(default_factory=list)
    deleted: list[Bound] = field(default_factory=list)
    unbound: int = 0


class RowFault(NamedTuple):
    """What is wrong with a row: its table, and its statement or event; "" where that is not known."""

    table: str
    key: str
    fault: str


class PlaceCheck(NamedTuple):
    """What the rows of a place are worth.

    Attributes:
        rows: as many as were looked at.
        unbound: statements and events that were there before the log began.
        waiting: those that are signed later: of running statements, and the newest events.
        late: the keys of those that are signed and on their way.
        faults: what is wrong.
    """

    rows: int
    unbound: int
    waiting: int
    late: frozenset[str]
    faults: tuple[RowFault, ...]


def expected_places(said: Iterable[Mapping[str, Any]]) -> dict[Place, Expected]:
    """What the log says of each table and day.

    Args:
        said: what its entries say, in their order.
    """
    found: dict[Place, Expected] = defaultdict(Expected)
    for sequence, entry in enumerate(said):
        for table, days in entry.get("unbound", {}).items():
            for day, rows in days.items():
                found[Place(table, day)].unbound = rows
        for part in entry.get("parts", ()):
            bound = Bound(sequence, part["leaves"], part["root"], part["columns"])
            found[Place(part["table"], part["day"])].bound.append(bound)
        for gone in entry.get("deleted", ()):
            place = found[Place(gone["table"], gone["day"])]
            place.deleted += place.bound
            place.bound, place.unbound = [], 0
    return dict(found)


def columns_listed(said: Iterable[Mapping[str, Any]]) -> dict[str, Columns]:
    """The columns that COLUMNS entries list, by their fingerprints."""
    listed = (one for one in said if one.get("kind") == "COLUMNS")
    return {one["fingerprint"]: _columns(one["columns"]) for one in listed}


def _columns(listed: Sequence[Any]) -> Any:
    """The columns of `audit.evidence.entries.listed`."""
    return [(name, kind if isinstance(kind, str) else _columns(kind)) for name, kind in listed]


def check_place(
    source: Source,
    place: Place,
    expected: Expected,
    columns: Mapping[str, Columns],
    pending: Collection[int] = (),
    unsigned_since: int | None = None,
) -> PlaceCheck:
    """Check the rows of a table and day.

    Args:
        source: what reads the tables.
        place: which.
        expected: what the log says of it.
        columns: by their fingerprints.
        pending: entries whose rows may not have come yet.
        unsigned_since: rows of events from then on (UTC microseconds) may not be signed yet; None: all are.
    """
    signed = _Signed.read(source, place, expected)
    rows, there = _there(source, place, signed, columns)
    changed = [key for key, leaf in there.items() if key in signed.leaves and signed.leaves[key][1] != leaf]
    unknown = [key for key in there if key not in signed.leaves]
    later = _signed_later(source, place, unsigned_since) if changed or unknown else set()
    missing = [key for key in signed.kept() if key not in there]
    # A row that is on its way may replace the one of a statement that runs.
    replaced = later.intersection(changed)
    late = frozenset(one for one in (*missing, *replaced) if signed.leaves[one][0] in pending)
    faults = [RowFault(place.table, "", text) for text in signed.faults]
    faults += [RowFault(place.table, key, ALTERED) for key in changed if key not in late]
    faults += [RowFault(place.table, key, GONE) for key in missing if key not in late]
    rest = [key for key in unknown if key not in later]
    if not signed.faults:  # else nobody knows which of them it bound
        faults += _unbound_faults(place, rest, expected.unbound)
    unbound = min(len(rest), expected.unbound)
    return PlaceCheck(rows, unbound, len(unknown) - len(rest), late, tuple(faults))


@dataclass(slots=True)
class _Signed:
    """The leaves that entries have signed: entry and hash by key; by key the columns that count."""

    leaves: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    columns: dict[int, str] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, source: Source, place: Place, expected: Expected) -> _Signed:
        """Those of a place."""
        signed = cls(deleted={one.sequence for one in expected.deleted})
        bound = {one.sequence: one for one in (*expected.deleted, *expected.bound)}
        if not bound:
            return signed
        left = set(bound)
        for sequence, keys, each in leaves_in(source, place, min(bound), max(bound)):
            if sequence not in bound:
                continue
            left.discard(sequence)
            if root(each).hex() != bound[sequence].root or len(keys) != len(each):
                signed.faults.append(f"the leaves of entry {sequence} of the log of digests were altered")
                continue
            signed.columns[sequence] = bound[sequence].columns
            signed.leaves.update((key, (sequence, leaf)) for key, leaf in zip(keys, each, strict=True))
        # Those of rows that retention has deleted go some time after them.
        signed.faults += [
            f"the leaves of entry {sequence} of the log of digests are gone"
            for sequence in sorted(left.difference(signed.deleted))
        ]
        return signed

    def kept(self) -> Iterator[str]:
        """The keys whose rows have to be there."""
        return (key for key, (sequence, _) in self.leaves.items() if sequence not in self.deleted)


def leaves_in(
    source: Source, place: Place, first: int, last: int
) -> Iterator[tuple[int, list[str], list[bytes]]]:
    """The leaves of a place in some entries: the entry, keys, and a hash for each.

    Args:
        source: what reads the tables.
        place: a table and a day.
        first: the first entry that is looked at.
        last: the last one.
    """
    text = (
        "SELECT sequence, one.keys AS keys, one.hashes AS hashes"  # noqa: S608 - a place that is known
        f" FROM (SELECT sequence, explode(leaves) AS one FROM {source.schema}.{DIGESTS.name}"
        f" WHERE sequence BETWEEN {first} AND {last})"
        f" WHERE one.table_name = '{place.table}' AND one.day = '{place.day}'"
    )
    found = source.arrow(text)
    for sequence, keys, hashes in zip(
        found["sequence"].to_pylist(), found["keys"], found["hashes"], strict=True
    ):
        data = hashes.as_py()
        yield sequence, keys.as_py(), [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)]


def _there(
    source: Source, place: Place, signed: _Signed, columns: Mapping[str, Columns]
) -> tuple[int, dict[str, bytes]]:
    """How many rows there are, and the leaf of each key."""
    of_keys: dict[str, bytes] = {}
    key = BOUND_TABLES[place.table].key
    used = Counter(signed.columns.values()) or Counter({"": 1})
    several = keys_of_several(source, place)
    rows = 0
    for number, (name, _) in enumerate(used.most_common()):
        counted = columns.get(name, [(key, "STRING")])
        found = leaves_there(source, place, counted, several)
        rows = found.rows
        for one, leaf in zip(found.keys, found.each(), strict=True):
            entry = signed.leaves.get(one)
            # A row counts with the columns that it was signed with.
            if number == 0 or (entry is not None and signed.columns[entry[0]] == name):
                of_keys[one] = leaf
    return rows, of_keys


def keys_of_several(source: Source, place: Place) -> set[str]:
    """The keys that several rows of a place have."""
    key = BOUND_TABLES[place.table].key
    rows = f"SELECT {key} FROM {source.schema}.{place.table} WHERE {place.where}"  # noqa: S608 - our own names
    return {one for (one,) in source.ask(f"{rows} GROUP BY {key} HAVING count(*) > 1", {}).rows}


def leaves_there(source: Source, place: Place, columns: Columns, several: Collection[str]) -> Leaves:
    """The leaves of the rows of a place, by the columns that count.

    Args:
        source: what reads the tables.
        place: which rows.
        columns: those that count.
        several: what `keys_of_several` gives.
    """
    texts = source.texts(place.table, BOUND_TABLES[place.table].key, place.where, columns)
    return leaves_of_parts(texts, several, has_groups=bool(groups(columns)))


def _signed_later(source: Source, place: Place, since: int | None) -> set[str]:
    """The keys of rows that need not be signed yet."""
    table = BOUND_TABLES[place.table]
    if place.table == QUERY_HISTORY.name:
        where = "execution_status = 'RUNNING'"
    elif table in EVENT_TABLES and since is not None:
        where = f"{table.time or 'event_time'} >= timestamp_micros({since})"
    else:
        return set()
    text = f"SELECT {table.key} FROM {source.schema}.{place.table} WHERE {place.where} AND {where}"  # noqa: S608 - our own names
    return {key for (key,) in source.ask(text, {}).rows}


def _unbound_faults(place: Place, keys: list[str], unbound: int) -> list[RowFault]:
    """What is wrong with rows that nobody has signed, of which some were there before the log began."""
    if not unbound:
        return [RowFault(place.table, key, INSERTED) for key in keys]
    if len(keys) == unbound:
        return []
    had = f"it had {unbound:,} when the log of digests began"
    return [RowFault(place.table, "", f"{place.day} has {len(keys):,} rows that nobody has signed; {had}")]
