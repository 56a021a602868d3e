"""Compares what the two engines, text and plan, found for one statement.

In: two `Access`es. Out: `Difference`s; none where they agree. Ids, the order of objects and columns, and the
case of names are left out, but for the names of a query's outputs: they are not the statement's meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lineage.model import (
    Access,
    AccessedObject,
    ColumnRef,
    Domain,
    ModifiedColumn,
    ModifiedObject,
    OutputColumn,
)

# By the list of objects: the fields whose columns a statement uses. The indirect sources of an output
# are columns of base objects.
_ACCESSED = {
    "direct_objects_accessed": ("direct_sources", "direct_indirect"),
    "base_objects_accessed": ("base_sources", "base_indirect", "indirect_sources"),
}
_SOURCES = ("base_sources", "direct_sources", "indirect_sources")


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the engines.

    Attributes:
        kind: which objects and columns are read; how many outputs; how an output is called; what it comes
            from; what is written; what is defined.
        where: the object, output or column.
        text, plan: what each engine found; of sources, those that it alone found.
    """

    kind: Literal["objects", "outputs", "name", "sources", "modified", "ddl"]
    where: str
    text: Any
    plan: Any

    def __str__(self) -> str:
        alone = " alone" if self.kind == "sources" else ""
        return f"{self.where}: text{alone} {_listed(self.text)}, plan{alone} {_listed(self.plan)}"


def _listed(found: Any) -> str:
    if found is None:
        return "nothing"
    return f"({', '.join(sorted(found))})" if isinstance(found, set) else str(found)


def differences(text: Access, plan: Access, *, names: bool = True) -> Iterator[Difference]:
    """The differences between both engines in objects and columns read and written.

    Args:
        text: from `lineage.trace`.
        plan: from `lineage.plan.analyze_plan`.
        names: whether the names of a query's outputs count; Spark alone knows those of some expressions.
    """
    yield from _read(text, plan)
    yield from _outputs(text.columns, plan.columns, names=names)
    inserts = text.statement_type == plan.statement_type == "MERGE"
    yield from _written(text.objects_modified, plan.objects_modified, inserts=inserts)


def different_definitions(text: Access, plan: Access) -> Iterator[Difference]:
    """Their differences in DDL; the plan's facts must tell whether its targets existed."""
    one, two = _defined(text), _defined(plan)
    if one != two:
        yield Difference("ddl", plan.statement_type, one, two)


def _read(text: Access, plan: Access) -> Iterator[Difference]:
    forgiving = bool(text.objects_modified) or text.statement_type == plan.statement_type == "SELECT"
    for kind, sources in _ACCESSED.items():
        one, two = _objects(getattr(text, kind)), _objects(getattr(plan, kind))
        used = {
            _column(ref)[:2] for made in _made(text) for name in sources for ref in getattr(made, name, ())
        }
        for name in sorted({*one, *two}):
            mine, other = one.get(name), two.get(name)
            if forgiving and mine is not None and other is not None and mine > other:
                # What a subquery names and nobody uses is accessed ("explicitly or through shortcuts");
                # Spark's plan has no trace of it where `*` or a struct stood in between.
                mine = {column for column in mine if column in other or (name, column) in used}
            if mine != other:
                yield Difference("objects", f"{kind} {name}", mine, other)


def _made(access: Access) -> Iterator[OutputColumn | ModifiedObject | ModifiedColumn]:
    """Whatever has sources."""
    yield from access.columns
    for item in access.objects_modified:
        yield item
        yield from item.columns


def _objects(accessed: Sequence[AccessedObject]) -> dict[str, set[str]]:
    return {_name(item): {column.name.casefold() for column in item.columns} for item in accessed}


def _name(item: AccessedObject) -> str:
    # A temporary function has no schema in a plan.
    name = item.name.rpartition(".")[2] if item.domain is Domain.FUNCTION else item.name
    return name.casefold()


def _column(ref: ColumnRef) -> tuple[str, ...]:
    return tuple([part.casefold() for part in (ref.object_name, ref.column_name, *ref.field_path)])


def _outputs(
    text: Sequence[OutputColumn], plan: Sequence[OutputColumn], *, names: bool
) -> Iterator[Difference]:
    if len(text) != len(plan):
        yield Difference("outputs", "outputs", [c.name for c in text], [c.name for c in plan])
    # Not strict: that the numbers differ is one difference already; what both have is compared all the same.
    for at, (one, two) in enumerate(zip(text, plan, strict=False)):
        if names and one.name != two.name:
            yield Difference("name", f"output {at}", one.name, two.name)
        for kind in _SOURCES:
            yield from _sources(f"{one.name} {kind}", getattr(one, kind), getattr(two, kind))


def _written(
    text: Sequence[ModifiedObject], plan: Sequence[ModifiedObject], *, inserts: bool
) -> Iterator[Difference]:
    first, second = ({item.name.casefold(): item for item in items} for items in (text, plan))
    for name in sorted({*first, *second}):
        one, two = first.get(name), second.get(name)
        if one is None or two is None:
            yield Difference("modified", name, _modified(one), _modified(two))
            continue
        mine, other = ({c.name.casefold(): c for c in item.columns} for item in (one, two))
        if inserts:
            # Delta (4.4) writes null into each column that an INSERT of a MERGE leaves out: its plan does not
            # tell these from columns that get a constant.
            other = {name: c for name, c in other.items() if name in mine or c.base_sources}
        if mine.keys() != other.keys():
            yield Difference("modified", name, {*mine}, {*other})
        for column in sorted(mine.keys() & other.keys()):
            for kind in _SOURCES[:2]:
                sources = getattr(mine[column], kind), getattr(other[column], kind)
                yield from _sources(f"{name}.{column} {kind}", *sources)
            for kind in ("base_functions", "direct_functions"):
                calls = [{_name(f) for f in getattr(c[column], kind)} for c in (mine, other)]
                yield from _different(f"{name}.{column} {kind}", *calls)


def _modified(item: ModifiedObject | None) -> set[str] | None:
    return None if item is None else {column.name.casefold() for column in item.columns}


def _sources(what: str, text: Sequence[ColumnRef], plan: Sequence[ColumnRef]) -> Iterator[Difference]:
    yield from _different(what, *(set(map(_column, refs)) for refs in (text, plan)))


def _different(what: str, text: set[Any], plan: set[Any]) -> Iterator[Difference]:
    if text != plan:
        yield Difference("sources", what, sorted(text - plan), sorted(plan - text))


def _defined(access: Access) -> tuple[Any, ...] | None:
    ddl = access.object_modified_by_ddl
    if ddl is None:
        return None
    columns = ddl.properties.get("columns", {})
    changes = sorted((name.casefold(), column.get("subOperationType")) for name, column in columns.items())
    return (ddl.name.casefold(), ddl.domain.value, ddl.operation_type, changes)
