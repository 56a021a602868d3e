"""Fills in the ids of objects and columns that an engine found by name.

In: an `Access` and the relations that its names stood for. Out: the same `Access` with objectId and
columnId everywhere; an object that no relation describes gets the id of its name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from lineage.catalog.object_ids import column_id, object_id
from lineage.model import (
    Access,
    AccessedObject,
    Column,
    ColumnRef,
    Domain,
    ModifiedColumn,
    ModifiedObject,
    ObjectDdl,
    OutputColumn,
    Relation,
    ViewDefinition,
)


def identify(access: Access, relations: Mapping[str, Relation]) -> Access:
    """Fill in the ids that are missing.

    Args:
        access: what an engine found.
        relations: by lower-case qualified name (or location).

    >>> from lineage.model import Domain
    >>> found = Access("SELECT", direct_objects_accessed=(AccessedObject("c.s.t", Domain.TABLE),))
    >>> identify(found, {}).direct_objects_accessed[0].object_id is None
    False
    """
    ids = _Ids(relations)
    ddl = access.object_modified_by_ddl
    if ddl is not None:
        ddl = ids.ddl(ddl)
    return replace(
        access,
        direct_objects_accessed=tuple(ids.accessed(o) for o in access.direct_objects_accessed),
        base_objects_accessed=tuple(ids.accessed(o) for o in access.base_objects_accessed),
        objects_modified=tuple(ids.modified(o) for o in access.objects_modified),
        object_modified_by_ddl=ddl,
        columns=tuple(ids.output(c) for c in access.columns),
        defines=ids.definition(access.defines) if access.defines is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Ids:
    relations: Mapping[str, Relation]

    def object(self, name: str, domain: Domain) -> int:
        known = self.relations.get(name.casefold())
        if known is not None and known.object_id is not None:
            return known.object_id
        return object_id(domain.value, name)

    def column(self, object_name: str, of_object: int, name: str) -> int:
        known = self.relations.get(object_name.casefold())
        for column in known.columns if known is not None else ():
            if column.column_id is not None and column.name.casefold() == name.casefold():
                return column.column_id
        return column_id(of_object, name)

    def ddl(self, found: ObjectDdl) -> ObjectDdl:
        identity = found.object_id or self.object(found.name, found.domain)
        properties = dict(found.properties)
        # Compound properties are by name (access-history document): here by column.
        if isinstance(properties.get("columns"), dict):
            properties["columns"] = {
                # An id that the change has already comes last, and stays.
                name: {"objectId": {"value": self.column(found.name, identity, name)}, **change}
                for name, change in properties["columns"].items()
            }
        return replace(found, object_id=identity, properties=properties)

    def accessed(self, found: AccessedObject) -> AccessedObject:
        identity = found.object_id or self.object(found.name, found.domain)
        columns = tuple(self._column(found.name, identity, c) for c in found.columns)
        return replace(found, object_id=identity, columns=columns)

    def _column(self, object_name: str, of_object: int, found: Column) -> Column:
        if found.column_id is not None:
            return found
        return replace(found, column_id=self.column(object_name, of_object, found.name))

    def modified(self, found: ModifiedObject) -> ModifiedObject:
        identity = found.object_id or self.object(found.name, found.domain)
        columns = tuple(self._modified(found.name, identity, c) for c in found.columns)
        return replace(
            found,
            object_id=identity,
            columns=columns,
            base_indirect=self.sources(found.base_indirect),
            direct_indirect=self.sources(found.direct_indirect),
        )

    def definition(self, found: ViewDefinition) -> ViewDefinition:
        return ViewDefinition(
            self.modified(found.view),
            tuple(self.accessed(o) for o in found.direct_objects),
            tuple(self.accessed(o) for o in found.base_objects),
        )

    def _modified(self, object_name: str, of_object: int, found: ModifiedColumn) -> ModifiedColumn:
        return replace(
            found,
            column_id=found.column_id or self.column(object_name, of_object, found.name),
            base_sources=self.sources(found.base_sources),
            direct_sources=self.sources(found.direct_sources),
            base_indirect=self.sources(found.base_indirect),
            direct_indirect=self.sources(found.direct_indirect),
            base_functions=tuple(self.accessed(f) for f in found.base_functions),
            direct_functions=tuple(self.accessed(f) for f in found.direct_functions),
        )

    def output(self, found: OutputColumn) -> OutputColumn:
        return replace(
            found,
            base_sources=self.sources(found.base_sources),
            direct_sources=self.sources(found.direct_sources),
            indirect_sources=self.sources(found.indirect_sources),
        )

    def sources(self, found: tuple[ColumnRef, ...]) -> tuple[ColumnRef, ...]:
        return tuple([self.source(s) for s in found])

    def source(self, found: ColumnRef) -> ColumnRef:
        identity = found.object_id or self.object(found.object_name, found.object_domain)
        column = found.column_id or self.column(found.object_name, identity, found.column_name)
        return replace(found, object_id=identity, column_id=column)
