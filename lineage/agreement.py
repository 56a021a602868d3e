"""What the two engines say of one statement, compared.

In: two `Access`es. Out: the differences, in words; nothing where they agree. Ids, the order of objects and
columns, and the case of names are left out: they are not the statement's meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lineage.model import Access, AccessedObject, ColumnRef, Domain, ModifiedObject, OutputColumn

_ACCESSED = {
    "direct_objects_accessed": ("direct_sources",),
    "base_objects_accessed": ("base_sources", "indirect_sources"),
}
_SOURCES = ("base_sources", "direct_sources", "indirect_sources")


def differences(text: Access, plan: Access, *, names: bool = True) -> Iterator[str]:
    """What the plan's engine sees otherwise than the text's.

    Args:
        text: from `lineage.trace`.
        plan: from `lineage.plan.analyze_plan`.
        names: whether the names of a query's outputs count; Spark alone knows those of some expressions.
    """
    yield from _read(text, plan)
    yield from _outputs(text.columns, plan.columns, names=names)
    yield from _written(text.objects_modified, plan.objects_modified)


def _read(text: Access, plan: Access) -> Iterator[str]:
    for kind, sources in _ACCESSED.items():
        one, two = _objects(getattr(text, kind)), _objects(getattr(plan, kind))
        used = {_column(ref)[:2] for out in text.columns for name in sources for ref in getattr(out, name)}
        for name in sorted({*one, *two}):
            mine, other = one.get(name), two.get(name)
            if text.columns and mine is not None and other is not None and mine > other:
                # What a subquery names and nobody uses is accessed ("explicitly or through shortcuts");
                # Spark's plan has no trace of it where `*` or a struct stood in between.
                mine = {column for column in mine if column in other or (name, column) in used}
            if mine != other:
                yield f"{kind} {name}: text {_listed(mine)}, plan {_listed(other)}"


def _objects(accessed: Sequence[AccessedObject]) -> dict[str, set[str]]:
    return {_name(item): {column.name.casefold() for column in item.columns} for item in accessed}


def _name(item: AccessedObject) -> str:
    # A temporary function has no schema in a plan.
    name = item.name.rpartition(".")[2] if item.domain is Domain.FUNCTION else item.name
    return name.casefold()


def _column(ref: ColumnRef) -> tuple[str, ...]:
    return tuple([part.casefold() for part in (ref.object_name, ref.column_name, *ref.field_path)])


def _listed(columns: set[str] | None) -> str:
    return "nothing" if columns is None else f"({', '.join(sorted(columns))})"


def _outputs(text: Sequence[OutputColumn], plan: Sequence[OutputColumn], *, names: bool) -> Iterator[str]:
    mine, other = ([column.name for column in columns] for columns in (text, plan))
    if mine != other and (names or len(mine) != len(other)):
        yield f"outputs: text {mine}, plan {other}"
    for one, two in zip(text, plan, strict=False):
        for kind in _SOURCES:
            yield from _sources(f"{one.name} {kind}", getattr(one, kind), getattr(two, kind))


def _written(text: Sequence[ModifiedObject], plan: Sequence[ModifiedObject]) -> Iterator[str]:
    first, second = ({item.name.casefold(): item for item in items} for items in (text, plan))
    for name in sorted({*first, *second}):
        one, two = first.get(name), second.get(name)
        if one is None or two is None:
            yield f"{name} is modified for the {'plan' if one is None else 'text'} alone"
            continue
        mine, other = ({c.name.casefold(): c for c in item.columns} for item in (one, two))
        for column in sorted({*mine, *other}):
            if column not in mine or column not in other:
                yield f"{name}.{column} is written for the {'text' if column in mine else 'plan'} alone"
                continue
            for kind in _SOURCES[:2]:
                sources = getattr(mine[column], kind), getattr(other[column], kind)
                yield from _sources(f"{name}.{column} {kind}", *sources)


def _sources(what: str, text: Sequence[ColumnRef], plan: Sequence[ColumnRef]) -> Iterator[str]:
    one, two = (set(map(_column, refs)) for refs in (text, plan))
    if one != two:
        yield f"{what}: text alone {sorted(one - two)}, plan alone {sorted(two - one)}"
