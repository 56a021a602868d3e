"""Leaks: columns derived from masked or tagged columns that have no mask themselves.

In: a `GovernanceState`, and lineage, which says what was made of a column. Out: `Leak`s, nearest first. Each
names the users who wrote it, as some users see values and others masked values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.model import Column, Domain, Relation
from lineage.names import quote_name

if TYPE_CHECKING:
    from audit.policies.model.governed_objects import ProtectedObject
    from audit.policies.model.state import GovernanceState

Downstream = Callable[[str], Any]
"""The downstream `LineageGraph` of a column, by its full name; None where it has no downstream."""
Types = Callable[[str], Mapping[str, str]]
"""The types of a table's columns by name, in Spark's words; empty for a table that does not exist."""


@dataclass(frozen=True, slots=True)
class Leak:
    """A column that is derived from a masked or tagged column and has no mask.

    Attributes:
        column: `catalog.schema.table.column`.
        source: the masked or tagged column, named likewise.
        policy: the masking policy of the source; None if it is only tagged.
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


def leaks_of(state: GovernanceState, downstream: Downstream, types: Types) -> list[Leak]:
    """All leaks, nearest to their sources first. Views are no leaks: reading one applies the masks.

    Args:
        state: has the masks and tags.
        downstream: gives the lineage of a column.
        types: gives the types of columns, as a tag masks by type.
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
            # A column that only filters or joins passes no value on, so it leaks none.
            edges = [edge for edge in graph.edges if edge.target.key == node.key and not edge.is_indirect]
            if edges:
                queries = dict.fromkeys(one for edge in edges for one in edge.query_ids)
                users = sorted({user for edge in edges for user in edge.users})
                found[node.name, source] = Leak(
                    node.name, source, policy, tags, node.hops, tuple(queries), tuple(users)
                )
    return sorted(found.values(), key=lambda leak: (leak.hops, leak.column, leak.source))


def _sources(state: GovernanceState) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """The masked and the tagged columns: full name, policy, tags."""
    for one in state.objects.values():
        masks = state.masks(one)
        for key in dict.fromkeys((*masks, *one.column_tags)):
            use = masks.get(key)
            policy = None if use is None else state.policies[use.policy].policy.name
            tags = _tags(one, key, state)
            if use is not None or tags:
                yield f"{one.name}.{quote_name((one.columns[key][0],))}", policy, tags


def _tags(protected: ProtectedObject, key: str, state: GovernanceState) -> tuple[str, ...]:
    """The tags of a column; a dropped one is kept for UNDROP, and tags nothing until then."""
    tags = (state.tags[tag] for tag in protected.column_tags.get(key, {}))
    return tuple(tag.name for tag in tags if not tag.dropped)


class _Masked:
    """Which columns carry a mask; the types of each table are asked for once."""

    def __init__(self, state: GovernanceState, types: Types) -> None:
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

    def _tagged(self, protected: ProtectedObject | None) -> list[str]:
        """Whether the column has a tag: whoever set it has decided about the column."""
        if protected is None:
            return []
        tagged = (key for key in protected.column_tags if _tags(protected, key, self._state))
        return [protected.columns[key][0].casefold() for key in tagged]
