"""Where masked or tagged data has gone without its mask: columns made of it that carry none themselves.

In: a `State`, and lineage, which says what was made of a column. Out: `Leak`s, nearest first. Whether what
was written was the value or what a mask shows of it depends on who wrote it: that stands beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.model import Column, Domain, Relation
from lineage.names import quote_name

if TYPE_CHECKING:
    from policies.state import Protected, State

Downstream = Callable[[str], Any]
"""The `LineageGraph` of all that was made of a column, by its full name; None where nothing was."""
Types = Callable[[str], Mapping[str, str]]
"""The types of the columns of a table by their names, in Spark's words; none where it is not there."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A column that was made of a masked or tagged one, and carries no mask.

    Attributes:
        column: `catalog.schema.table.column`.
        source: the column that it was made of, by any number of hops, named likewise.
        policy: what masks the source; None where that is tagged alone.
        tags: of the source.
        hops: between the two.
        query_ids: the statements that wrote it, in the order of time.
        users: who ran them.
    """

    column: str
    source: str
    policy: str | None
    tags: tuple[str, ...]
    hops: int
    query_ids: tuple[str, ...]
    users: tuple[str, ...]


def leaks_of(state: State, downstream: Downstream, types: Types) -> list[Leak]:
    """All of them, nearest to their sources first. Views are none: they are masked when they are read.

    Args:
        state: what is masked and tagged.
        downstream: what was made of a column.
        types: tells columns that tags mask by their types.
    """
    masked = _Masked(state, types)
    found: dict[tuple[str, str], Leak] = {}
    for source, policy, tags in _sources(state):
        graph = downstream(source)
        for node in () if graph is None else graph.nodes[1:]:
            if node.column_name is None or node.dropped is not None or node.object_domain.upper() == "VIEW":
                continue
            if node.name == source or masked.has(node):
                continue
            edges = [edge for edge in graph.edges if edge.target.key == node.key and not edge.is_indirect]
            if edges:
                queries = dict.fromkeys(one for edge in edges for one in edge.query_ids)
                users = sorted({user for edge in edges for user in edge.users})
                found[node.name, source] = Leak(
                    node.name, source, policy, tags, node.hops, tuple(queries), tuple(users)
                )
    return sorted(found.values(), key=lambda leak: (leak.hops, leak.column, leak.source))


def _sources(state: State) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """The masked and the tagged columns: full name, policy, tags."""
    for one in state.objects.values():
        masks = state.masks(one)
        for key in dict.fromkeys((*masks, *one.column_tags)):
            use = masks.get(key)
            policy = None if use is None else state.policies[use.policy].policy.name
            tags = tuple(state.tags[tag].name for tag in one.column_tags.get(key, {}))
            yield f"{one.name}.{quote_name((one.columns[key][0],))}", policy, tags


class _Masked:
    """Which columns carry a mask; the types of each table are asked for once."""

    def __init__(self, state: State, types: Types) -> None:
        self._state = state
        self._types = types
        self._known: dict[str, Sequence[str]] = {}

    def has(self, node: Any) -> bool:
        """Whether a node of the graph does."""
        if node.object_name not in self._known:
            self._known[node.object_name] = self._masked(node)
        return node.column_name.casefold() in self._known[node.object_name]

    def _masked(self, node: Any) -> Sequence[str]:
        columns = tuple(Column(name, kind) for name, kind in self._types(node.object_name).items())
        relation = Relation(node.object_name, Domain.TABLE, node.object_id, columns)
        attached = self._state.attachments(relation)
        return [
            one.columns[0].casefold() for one in attached if one.policy.domain is Domain.MASKING_POLICY
        ] + self._tagged(self._state.protected(relation))

    @staticmethod
    def _tagged(protected: Protected | None) -> list[str]:
        """Who tags a derived column has seen it."""
        if protected is None:
            return []
        return [protected.columns[key][0].casefold() for key, tags in protected.column_tags.items() if tags]
