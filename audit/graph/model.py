"""The values of a lineage graph: nodes, edges, and the graph of them.

In: nothing. Out: frozen values. `audit.graph.lineage_graph` adds the forms in which people want them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lineage.names import quote_name

if TYPE_CHECKING:
    from datetime import datetime

Direction = Literal["upstream", "downstream", "both"]
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Node:
    """A column, or an object as a whole.

    Attributes:
        object_id: 63-bit; of an object that was made anew under its name, the newest.
        object_name: `catalog.schema.object`, its newest name as of the graph's moment.
        column_id: None for an object as a whole.
        column_name: None for an object as a whole.
        object_domain: `Table`, `VIEW`, `STAGE`, …
        dropped: when the object was dropped (UTC), None while it is there.
        hops: from where the graph begins, the shortest way; upstream is negative.
        failed_checks: the expectations that do not hold for it; looked up with `failed_checks=True` alone.
    """

    object_id: int
    object_name: str
    column_id: int | None = None
    column_name: str | None = None
    object_domain: str = "Table"
    dropped: datetime | None = None
    hops: int = 0
    failed_checks: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[int, int | None]:
        """What makes it the same node in two graphs."""
        return self.object_id, self.column_id

    @property
    def name(self) -> str:
        """The object's name, with the column's."""
        if self.column_name is None:
            return self.object_name
        return f"{self.object_name}.{quote_name((self.column_name,))}"


@dataclass(frozen=True, slots=True)
class Edge:
    """What statements have made of one node for another, all of them together.

    Attributes:
        source: where the value comes from.
        target: where it went; an object as a whole where all of its columns are meant.
        kind: `direct`; `base` where a view between is not on record; `table` where a statement's columns
            are not known.
        is_indirect: the source filters, joins or sorts, its values are not in the target.
        transformations: IDENTITY, TRANSFORMATION, AGGREGATION or INDIRECT, in the order of the alphabet.
        fields: the fields of a struct that were read, as `column.field`.
        count: statements.
        first: start of the first statement (UTC).
        last: start of the last one (UTC).
        query_ids: the statements, in the order of time.
        users: who ran them, in the order of the alphabet.
    """

    source: Node
    target: Node
    kind: str
    is_indirect: bool
    transformations: tuple[str, ...]
    fields: tuple[str, ...]
    count: int
    first: datetime
    last: datetime
    query_ids: tuple[str, ...]
    users: tuple[str, ...]

    @property
    def key(self) -> tuple[tuple[int, int | None], tuple[int, int | None], bool]:
        """What makes it the same edge in two graphs."""
        return self.source.key, self.target.key, self.is_indirect


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes and edges of an answer, as `LineageGraph` describes them."""

    name: str
    direction: Direction
    as_of: datetime | None
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
