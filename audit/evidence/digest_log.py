"""`digests`: the Delta table of the log of digests, beside the audit tables.

In: drafts of entries. Out: entries, each with the signed checkpoint of the log up to it. Several drivers
write one log: an entry is appended only where nobody else has written since its place was known, else it is
signed for the next place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from pyarrow import compute

from audit.core.clock import to_datetime, to_iso
from audit.core.errors import IngestError
from audit.evidence import keys
from audit.evidence.checkpoint import Checkpoint
from audit.evidence.entries import Draft, Entry, Kind, Part, fingerprint, listed
from audit.evidence.head import Head, frontier_text, parse_frontier
from audit.evidence.merkle import leaf_hash
from audit.spark.delta.event_table import HistoryTable
from audit.spark.unrecorded import unrecorded
from audit.store.days.compaction import compact
from audit.store.tables import DIGESTS, TableOfRoot, path_name

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from audit.core.clock import Clock
    from audit.evidence.row_texts import Columns
    from audit.evidence.signed_note import Signer, Verifier

COLUMNS = (
    ("sequence", "BIGINT", "The place of the entry in the log, from 0"),
    ("entry_time", "TIMESTAMP", "When it was signed (UTC, microseconds)"),
    ("kind", "STRING", "BEGIN, COLUMNS, ROWS, EVENTS, INTERVAL, RETENTION, KEY or BROKEN"),
    ("body", "STRING", "What it says, as JSON; a leaf of the Merkle tree of the log"),
    ("checkpoint", "STRING", "A signed note: name of the log, number of entries, root over them"),
    ("frontier", "STRING", "Nodes of the tree that the next entry needs, in hex"),
    (
        "leaves",
        "ARRAY<STRUCT<table_name: STRING, day: STRING, keys: ARRAY<STRING>, hashes: BINARY>>",
        "Of the rows that it binds: query or event ids, a SHA-256 for each; null once retention took all",
    ),
)
_TRIES = 50


class DigestLog:
    """The log of a root.

    Args:
        spark: a session of the audit's own.
        root: of the audit tables.
        home: the folder that holds `spool/`, and the key.
        clock: tells the time.
    """

    def __init__(self, spark: SparkSession, root: str, home: Path, clock: Clock) -> None:
        self.spark = spark
        self.root = root
        self._home = home
        self._clock = clock
        self._table = HistoryTable(
            spark, DIGESTS.location(root), COLUMNS, ordered_by="sequence", versions_days=30
        )

    def prepare(self) -> None:
        """Make the table where there is none, so that the first ingest need not."""
        if self._table.version() < 0:
            self._table.create()

    @property
    def key(self) -> str:
        """The public key of whoever signs here, as its text.

        Raises:
            EvidenceError: the key cannot be used.
            SpoolUnavailableError: its file cannot be read or made.
        """
        return str(keys.signer_of(self._home).verifier)

    def append(self, drafts: Sequence[Draft], tables: Mapping[str, int] | None = None) -> list[Entry]:
        """Sign entries, in their order; they are on record when this returns.

        Args:
            drafts: of the entries.
            tables: versions of tables of events whose rows are all bound with these.

        Raises:
            EvidenceError: the key cannot be used.
            IngestError: others were faster at every attempt.
            SpoolUnavailableError: the key, or the file of the log's end, cannot be read or written.
        """
        signer = keys.signer_of(self._home)
        for attempt in range(_TRIES):
            head = self.head(reads=attempt > 0)
            # The log was cut off, or exchanged: on record, and signed, from here on.
            broken = [Draft("BROKEN", {"checkpoint": head.lost})] if head.lost else []
            end, rows = self._signed(head, [*broken, *drafts], signer)
            seen = head.version
            if seen < 0:
                self._table.create()
                seen = 0  # Delta's CREATE TABLE is a commit of its own
            version = self._table.append(rows, seen=seen)
            if version is not None:
                replace(end, version=version, tables={**head.tables, **(tables or {})}).save(self._home)
                return [Entry(row[0], row[3], row[4]) for row in rows]
        raise IngestError(
            f"{self._table.location} is written by others faster than by this ingest",
            "the records are safe in the spool; run `audit ingest` again",
        )

    def rotate(self) -> Verifier:
        """Sign with a new key from now on, for which the old one vouches; a killed run is run again.

        Raises:
            EvidenceError: a key cannot be used.
            IngestError: others were faster at every attempt.
            SpoolUnavailableError: a key cannot be read, made or replaced.
        """
        new = keys.next_signer(self._home, keys.signer_of(self._home).name)
        self.append([Draft("KEY", {"key": str(new.verifier)})])
        keys.take_next(self._home)
        return new.verifier

    def _signed(
        self, head: Head, drafts: Sequence[Draft], signer: Signer
    ) -> tuple[Head, list[tuple[Any, ...]]]:
        """The end of the log behind some entries, and their rows, as `COLUMNS` orders them."""
        rows: list[tuple[Any, ...]] = []
        for draft in drafts:
            now, sequence = self._clock.now(), head.tree.size
            body = draft.body(sequence, to_iso(now))
            tree, origin = head.tree.with_leaf(leaf_hash(body.encode())), head.origin or signer.name
            note = Checkpoint(origin, tree.size, tree.root).signed(signer)
            leaves = [_leaves(part) for part in draft.parts] or None
            rows.append((sequence, to_datetime(now), draft.kind, body, note, frontier_text(tree), leaves))
            new = {draft.details["fingerprint"]} if draft.kind == "COLUMNS" else set()
            head = replace(
                head, tree=tree, time=now, origin=origin, columns=head.columns | new, checkpoint=note, lost=""
            )
        return head, rows

    def head(self, *, reads: bool = False) -> Head:
        """The end of the log. The file of the last writer, where nobody has written since.

        Args:
            reads: read the table: the file may be of a log that somebody has cut off.
        """
        kept = Head.load(self._home)
        if not reads and kept.version >= 0 and self._table.is_newest(kept.version):
            return kept
        version = self._table.version()
        if version < 0 or self._is_new(version):
            return Head(version, lost=kept.checkpoint)
        return self._read(version, kept)

    def _is_new(self, version: int) -> bool:
        """Whether nothing was ever written to the table; told without a Spark job, which takes seconds."""
        added = self._table.added_since(-1, 0) if version == 0 else None
        return added is not None and not added.num_rows

    def _read(self, version: int, kept: Head) -> Head:
        with unrecorded():
            frame = self._frame(version)
            newest = (
                frame.select("sequence", "entry_time", "frontier", "checkpoint")
                .orderBy("sequence", ascending=False).limit(1).collect()
            )  # fmt: skip
            if not newest:
                return Head(version, lost=kept.checkpoint)
            said = [Entry(0, row["body"], "").said() for row in self._of_kind(frame, "COLUMNS")]
            events = [Entry(0, row["body"], "").said() for row in self._of_kind(frame, "EVENTS")]
        (last,) = newest
        tables = max(events, key=lambda one: one["sequence"])["versions"] if events else {}
        tree = parse_frontier(last["sequence"] + 1, last["frontier"])
        columns = frozenset(one["fingerprint"] for one in said)
        time = round(last["entry_time"].timestamp() * 1_000_000)
        origin = last["checkpoint"].partition("\n")[0]
        is_cut = kept.tree.size > tree.size or (kept.tree.size == tree.size and kept.tree != tree)
        lost = kept.checkpoint if is_cut else ""
        return Head(version, tree, time, origin, columns, tables, last["checkpoint"], lost)

    def has_batch(self, batch: str) -> bool:
        """Whether an entry binds a batch, by its name."""
        if self._table.version() < 0:
            return False
        return any(one.get("batch") == batch for one in self.said(("ROWS",)))

    def unbound_events(self, name: str, key: str, version: int) -> pa.Table:
        """The rows of a table of events that no entry binds; by Spark.

        Args:
            name: of the table.
            key: the column by which rows are known.
            version: of the table.
        """
        with unrecorded():
            rows = self._read_at(TableOfRoot(name), version).toArrow()
            events = self._frame(self._table.version()).where("kind = 'EVENTS'")
            leaves = events.selectExpr("explode(leaves) AS l").where(f"l.table_name = '{name}'")
            bound = leaves.selectExpr("explode(l.keys) AS key").toArrow()
        is_new = compute.invert(compute.is_in(rows[key], value_set=bound["key"].combine_chunks()))
        return rows.filter(is_new)

    def columns(self, columns: Columns, head: Head) -> list[Draft]:
        """The entry that lists columns, where the log has none of them."""
        name = fingerprint(columns)
        if name in head.columns:
            return []
        return [Draft("COLUMNS", {"fingerprint": name, "columns": listed(columns)})]

    def _frame(self, version: int) -> DataFrame:
        return self._read_at(DIGESTS, version)

    def _read_at(self, table: TableOfRoot, version: int) -> DataFrame:
        return self.spark.read.format("delta").option("versionAsOf", version).load(table.location(self.root))

    def _of_kind(self, frame: DataFrame, kind: str) -> list[Any]:
        return frame.where(f"kind = '{kind}'").select("body").collect()

    def said(self, kinds: Sequence[Kind]) -> list[dict[str, Any]]:
        """What the entries of some kinds say, in their order; by Spark."""
        with unrecorded():
            frame = self._frame(self._table.version())
            found = [row for kind in kinds for row in self._of_kind(frame, kind)]
        return sorted((Entry(0, row["body"], "").said() for row in found), key=itemgetter("sequence"))

    def compact(self, commits: int) -> None:
        """Put small files together, where it is due."""
        version = compact(self.spark, DIGESTS, self.root, commits)
        if version is not None:
            self._follow(Head.load(self._home), version)

    def forget_leaves(self, before: date) -> None:
        """Delete the leaves of the oldest entries, all whose rows are of days that no table keeps.

        Args:
            before: the first day (UTC) that a table keeps.
        """
        version = self._table.version()
        if version < 0:
            return
        needed = (
            one["sequence"]
            for one in self.said(("ROWS",))
            if any(part["day"] >= before.isoformat() for part in one["parts"])
        )
        where = "kind = 'ROWS' AND leaves IS NOT NULL"
        first = next(needed, None)
        where += "" if first is None else f" AND sequence < {first}"
        with unrecorded():
            if self._frame(version).where(where).isEmpty():
                return
        self._run(f"UPDATE {path_name(DIGESTS, self.root)} SET leaves = NULL WHERE {where}")  # noqa: S608 - our own path

    def _run(self, text: str) -> None:
        """Run a statement that changes files, not entries."""
        head = self.head()
        with unrecorded():
            self.spark.sql(text).collect()
        self._follow(head, self._table.version())

    def _follow(self, head: Head, version: int) -> None:
        """Where others have not written as well, the file of the log's end stays of use."""
        if version == head.version + 1:
            replace(head, version=version).save(self._home)


def _leaves(part: Part) -> dict[str, Any]:
    """The leaves of a part, as the table has them."""
    leaves = part.leaves
    return {"table_name": part.table, "day": part.day, "keys": list(leaves.keys), "hashes": leaves.hashes}
