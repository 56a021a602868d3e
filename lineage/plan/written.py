"""The objects that a command wrote, or the definition of a view, as an entry of the result.

In: the values of the columns by name, and the sources of conditions on the rows. Out: a `ModifiedObject`.
"""

from __future__ import annotations

from collections.abc import Mapping

from lineage.model import CODE, AccessedObject, Column, Domain, ModifiedColumn, ModifiedObject, Relation
from lineage.plan.reader import PlanReader
from lineage.plan.values import Value, numbers, union
from lineage.transformation import named

_MAX_OWN_SOURCES = 10_000
"""As in `lineage.statements.access_builder`: with more references to what shaped single columns, the object
has them all."""


def modified_object(
    reader: PlanReader, owner: Relation, columns: Mapping[str, Value], rows: Value, *, overwrites: bool
) -> ModifiedObject:
    """A written object, its columns with their sources; `rows` are indirect sources of all."""
    by = union((rows, *columns.values())) if _own(columns) > _MAX_OWN_SOURCES else rows
    stage = owner.domain is Domain.STAGE
    refs = reader.registry.refs
    # Reversed: of columns that differ by case alone the first one counts.
    known = {column.name.lower(): column for column in reversed(owner.columns)}
    return ModifiedObject(
        owner.name,
        owner.domain,
        owner.object_id,
        tuple(
            _column(reader, known.get(name.lower()) or Column(name), name, value, by)
            for name, value in columns.items()
        ),
        owner.location if stage else None,
        "External Named" if stage else None,
        refs(by.base_indirect),
        refs(by.direct_indirect),
        overwrites,
    )


def _own(columns: Mapping[str, Value]) -> int:
    return sum(
        value.base_indirect.bit_count() + value.direct_indirect.bit_count() for value in columns.values()
    )


def _column(reader: PlanReader, column: Column, name: str, value: Value, by: Value) -> ModifiedColumn:
    refs = reader.registry.refs
    direct, base = named(value.transformation)
    return ModifiedColumn(
        name,
        column.column_id,
        refs(value.base),
        refs(value.direct),
        base,
        direct,
        refs(value.base_indirect & ~by.base_indirect & ~value.base),
        refs(value.direct_indirect & ~by.direct_indirect & ~value.direct),
        functions(reader, value.base),
        functions(reader, value.direct),
    )


def functions(reader: PlanReader, bits: int) -> tuple[AccessedObject, ...]:
    """The functions in a set of sources."""
    registry = reader.registry
    owners = dict.fromkeys(
        registry.sources[number].owner for number in numbers(bits) if registry.sources[number].column is None
    )
    found = [registry.objects[owner] for owner in owners]
    return tuple(AccessedObject(f.name, f.domain, f.object_id) for f in found if f.domain in CODE)
