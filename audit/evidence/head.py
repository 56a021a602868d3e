"""The end of a log of digests, as whoever last wrote to it knows it.

In: the folder that holds `spool/`. Out: `Head`: what the next entry continues, and up to where the log was
there at least: who cuts the log off would have to cut this file, too.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson

from audit.core.json_text import to_json
from audit.evidence.merkle import Frontier
from audit.spool.failure import spool_errors

if TYPE_CHECKING:
    from pathlib import Path

FILE = "evidence.head"


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log.

    Attributes:
        version: of the Delta table; -1 before it is there.
        tree: over all entries.
        time: of the last entry, UTC microseconds.
        origin: the log's name.
        columns: the fingerprints that COLUMNS entries have listed.
        tables: the newest versions of tables of events whose rows are all bound.
        checkpoint: the signed note of the last entry.
        lost: the signed note of a longer log, or of another one, that was there before; "" for none.
    """

    version: int = -1
    tree: Frontier = field(default_factory=Frontier)
    time: int = 0
    origin: str = ""
    columns: frozenset[str] = frozenset()
    tables: Mapping[str, int] = field(default_factory=dict)
    checkpoint: str = ""
    lost: str = ""

    def save(self, home: Path) -> None:
        """Write the file.

        Raises:
            SpoolUnavailableError: it cannot be written.
        """
        said = {
            "version": self.version, "size": self.tree.size, "nodes": frontier_text(self.tree),
            "time": self.time, "origin": self.origin, "columns": sorted(self.columns),
            "tables": dict(self.tables), "checkpoint": self.checkpoint,
        }  # fmt: skip
        path = home / FILE
        with spool_errors(path):
            own = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
            with own.open("wb") as file:
                file.write(to_json(said))
                file.flush()
                os.fsync(file.fileno())
            own.replace(path)

    @staticmethod
    def load(home: Path) -> Head:
        """What the file holds; the beginning of a log where there is none, or it is damaged.

        Raises:
            SpoolUnavailableError: it cannot be read.
        """
        path = home / FILE
        with spool_errors(path):
            if not path.exists():
                return Head()
            data = path.read_bytes()
        try:
            said = orjson.loads(data)
            tree = parse_frontier(said["size"], said["nodes"])
            return Head(
                said["version"], tree, said["time"], said["origin"], frozenset(said["columns"]),
                said["tables"], said["checkpoint"],
            )  # fmt: skip
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            return Head()


def frontier_text(tree: Frontier) -> str:
    """The nodes of a tree, in hex."""
    return b"".join(tree.nodes).hex()


def parse_frontier(size: int, text: str) -> Frontier:
    """A tree again.

    Raises:
        ValueError: they are not the nodes of a tree of that size.
    """
    data = bytes.fromhex(text)
    nodes = tuple(data[at : at + 32] for at in range(0, len(data), 32))
    if len(nodes) != size.bit_count():
        raise ValueError(f"a tree of {size} leaves has not {len(nodes)} nodes")
    return Frontier(size, nodes)
