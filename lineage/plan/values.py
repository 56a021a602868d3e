"""Sets of sources as integers: each source has a bit, so that a union is one `|`.

In: objects and columns as the plan is walked. Out: a `Registry` that numbers them, and `Value`, what a
column of a plan is made of. Values are plain tuples: a plan of 2,000 columns makes millions of unions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage.model import Column, ColumnRef, Domain, Relation
from lineage.transformation import COMPUTED
from lineage.types import element_type, field_type, struct_fields


class Value(NamedTuple):
    """The sources of one column: direct and base, and the indirect ones of either kind.

    `shape` keeps what is needed to follow a field into a struct: the pair of source numbers (direct, base) of
    an untouched column, the values of a struct built on the way by name, or None. `transformation` says what
    was done to the sources on the way, in the bits of lineage.transformation.
    """

    direct: int = 0
    base: int = 0
    direct_indirect: int = 0
    base_indirect: int = 0
    shape: Any = None
    transformation: int = 0


NOTHING = Value()


@dataclass(slots=True)
class ColumnSource:
    """A column of an object, or a field of one; `column` is None for an object as a whole."""

    owner: int
    column: Column | None
    path: tuple[str, ...] = ()


@dataclass(slots=True)
class Registry:
    """Numbers objects and sources, each once."""

    objects: list[Relation] = field(default_factory=list)
    sources: list[ColumnSource] = field(default_factory=list)
    _object_ids: dict[tuple[str, Domain], int] = field(default_factory=dict)
    _source_ids: dict[tuple[int, str | None, tuple[str, ...]], int] = field(default_factory=dict)

    def object(self, relation: Relation) -> int:
        """The number of an object; the first relation of a name is the one that is kept."""
        key = (relation.name, relation.domain)
        number = self._object_ids.get(key)
        if number is None:
            number = self._object_ids[key] = len(self.objects)
            self.objects.append(relation)
        return number

    def source(self, owner: int, column: Column | None, path: tuple[str, ...] = ()) -> int:
        """The number of a column, of a field below it, or of the object itself."""
        # By name: columns of one object have unique names.
        key = (owner, column.name if column else None, path)
        number = self._source_ids.get(key)
        if number is None:
            number = self._source_ids[key] = len(self.sources)
            self.sources.append(ColumnSource(owner, column, path))
        return number

    def field(self, number: int, name: str) -> int:
        """The number of the field `name` of a source."""
        parent = self.sources[number]
        return self.source(parent.owner, parent.column, (*parent.path, name))

    def field_at(self, number: int, ordinal: int) -> str | None:
        """The name of the field at a place of a source or its elements, None where its type is not known."""
        kind = self.kind(number)
        fields = struct_fields(element_type(kind) or kind)
        return fields[ordinal][0] if ordinal < len(fields) else None

    def kind(self, number: int) -> str:
        """The type of a source, "" where it is not known."""
        source = self.sources[number]
        kind = source.column.type if source.column else ""
        for name in source.path:
            kind = field_type(kind, name) or ""
        return kind

    def sources_of(self, objects: int) -> int:
        """The sources that belong to a set of objects."""
        return sum(1 << number for number, source in enumerate(self.sources) if objects >> source.owner & 1)

    def refs(self, bits: int) -> tuple[ColumnRef, ...]:
        """The columns in a set, in the order in which the plan first named them."""
        found = []
        for number in numbers(bits):
            source = self.sources[number]
            if source.column is not None:
                owner = self.objects[source.owner]
                column = source.column
                found.append(
                    ColumnRef(
                        owner.name, column.name, owner.domain, owner.object_id, column.column_id, source.path
                    )
                )
        return tuple(found)

    def columns(self, bits: int) -> dict[int, dict[str, Column]]:
        """The columns in a set by object (fields count as their column)."""
        found: dict[int, dict[str, Column]] = {}
        for number in numbers(bits):
            source = self.sources[number]
            columns = found.setdefault(source.owner, {})
            if source.column is not None:
                columns[source.column.name] = source.column
        return found


def numbers(bits: int) -> Iterator[int]:
    """The numbers in a set, ascending.

    >>> list(numbers(0b10100))
    [2, 4]
    """
    digits = bin(bits)[:1:-1]  # one pass: arithmetic on a set of 50,000 would copy it for each member
    at = digits.find("1")
    while at >= 0:
        yield at
        at = digits.find("1", at + 1)


def union(values: Iterable[Value]) -> Value:
    """A value made of several."""
    direct = base = direct_indirect = base_indirect = how = 0
    for value in values:
        direct |= value[0]
        base |= value[1]
        direct_indirect |= value[2]
        base_indirect |= value[3]
        how |= value[5]
    return Value(direct, base, direct_indirect, base_indirect, None, how)


def computed(value: Value, how: int = COMPUTED) -> Value:
    """A value computed from another one; it is no struct whose fields can be followed.

    What has no source computes nothing from one; to count rows is to aggregate them all the same.
    """
    if how == COMPUTED and not (value[0] or value[1]):
        how = 0
    return Value(value[0], value[1], value[2], value[3], None, value[5] | how)


def as_condition(value: Value) -> Value:
    """A value as an indirect source."""
    return Value(0, 0, value[0] | value[2], value[1] | value[3])
