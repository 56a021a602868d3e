"""Entries of the log of digests: each binds what one ingest, or one retention, did.

In: leaves of tables and days. Out: a text for the log, which is a leaf of its Merkle tree; an entry again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from audit.core.json_text import to_json
from audit.evidence.leaves import Leaves
from audit.evidence.row_texts import Columns

Kind = Literal["BEGIN", "COLUMNS", "ROWS", "EVENTS", "INTERVAL", "RETENTION", "KEY", "BROKEN"]
ORIGIN = "spark-access-history"
"""How the names of all logs begin."""
_FINGERPRINT = 16


@dataclass(frozen=True, slots=True)
class Part:
    """What an entry says of one table and day.

    Attributes:
        table: its name.
        day: of the rows' partition, ISO 8601; "" for a table of events, which has none.
        columns: the fingerprint of the columns that count, which a COLUMNS entry before it lists.
        leaves: of its rows.
    """

    table: str
    day: str
    columns: str
    leaves: Leaves

    def described(self) -> dict[str, Any]:
        """For the body of the entry."""
        return {
            "table": self.table, "day": self.day, "columns": self.columns, "rows": self.leaves.rows,
            "leaves": len(self.leaves.keys), "root": self.leaves.root.hex(),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry without its place in the log.

    Attributes:
        kind: of the entry.
        details: what it says, as JSON.
        parts: what rows it binds.
    """

    kind: Kind
    details: Mapping[str, Any] = field(default_factory=dict)
    parts: Sequence[Part] = ()

    def body(self, sequence: int, time: str) -> str:
        """The text that the log's tree binds."""
        said = {**self.details, "kind": self.kind, "sequence": sequence, "time": time}
        if self.parts:
            said["parts"] = [part.described() for part in self.parts]
        return to_json(said, sort_keys=True).decode()


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a log.

    Attributes:
        sequence: its place, from 0.
        body: its text.
        checkpoint: the signed note of the log up to it.
    """

    sequence: int
    body: str
    checkpoint: str

    def said(self) -> dict[str, Any]:
        """What its text says.

        Raises:
            ValueError: it is none of ours.
        """
        found = json.loads(self.body)
        if not isinstance(found, dict):
            raise ValueError(f"entry {self.sequence} is no object")  # noqa: TRY004 - as json.loads has it
        return found


def fingerprint(columns: Columns) -> str:
    """A short name of columns: names, types and their order.

    >>> fingerprint([("a", "STRING")]) == fingerprint([("a", "string")]), len(fingerprint([]))
    (True, 16)
    """
    return sha256(to_json(listed(columns))).hexdigest()[:_FINGERPRINT]


def listed(columns: Columns) -> list[list[Any]]:
    """Columns as a COLUMNS entry lists them.

    >>> listed([("a", "STRING"), ("g", [("b", "INT")])])
    [['a', 'string'], ['g', [['b', 'int']]]]
    """
    from lineage.types import simple_type

    return [[name, simple_type(kind) if isinstance(kind, str) else listed(kind)] for name, kind in columns]
