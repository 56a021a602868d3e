"""The datasets of a statement, each with its facets.

In: a recorded statement, names, what the catalog says. Out: inputs and outputs. Inputs are what the statement
names itself; the tables below a view are told by the statement that defines it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from audit.exchange.accessed import Accessed, read_by, written_by
from audit.exchange.catalog import CatalogFacts, CatalogObject
from audit.exchange.history import RecordedStatement, Row
from audit.exchange.names import DatasetNames, location_of, type_of
from audit.exchange.openlineage.column_lineage import column_lineage
from audit.exchange.openlineage.facets import Json, facet, facets

_OPERATIONS = {
    "CREATE": "CREATE", "ALTER": "ALTER", "DROP": "DROP", "REPLACE": "OVERWRITE", "UNDROP": "CREATE",
    "TRUNCATE": "TRUNCATE",
}  # fmt: skip
_FORMATS = frozenset({"parquet", "orc", "avro", "json", "csv", "text", "xml"})


def inputs(statement: RecordedStatement, names: DatasetNames, known: CatalogFacts) -> list[Json]:
    """What the statement read."""
    objects = read_by(statement)
    described = _Describing(statement, names, known, "read")
    size = statement.query.get("bytes_scanned")
    # Of several inputs nobody knows the parts.
    counted = facet("InputStatisticsInputDatasetFacet", size=size) if size and len(objects) == 1 else None
    return [{**described.dataset(one), "inputFacets": facets(inputStatistics=counted)} for one in objects]


def outputs(statement: RecordedStatement, names: DatasetNames, known: CatalogFacts) -> list[Json]:
    """What the statement wrote or defined."""
    objects = written_by(statement)
    described = _Describing(statement, names, known, "write")
    found = []
    for one in objects:
        made = described.dataset(one)
        made["facets"] |= facets(
            columnLineage=column_lineage(statement, one.name, names),
            lifecycleStateChange=_change(statement, one),
        )
        counted = _counted(statement.query) if len(objects) == 1 else None
        found.append({**made, "outputFacets": facets(outputStatistics=counted)})
    return found


@dataclass(frozen=True, slots=True)
class _Describing:
    """Makes datasets of one statement's objects."""

    statement: RecordedStatement
    names: DatasetNames
    known: CatalogFacts
    access: str

    def dataset(self, one: Accessed) -> Json:
        named = self.names.dataset(one.name)
        known = self.known.object(one.object_id)
        return {
            "namespace": named.namespace,
            "name": named.name,
            "facets": facets(
                schema=_schema(one, known),
                datasetType=facet("DatasetTypeDatasetFacet", datasetType=type_of(named, one.domain)),
                dataSource=_source(named.namespace),
                version=self._version(one),
                ownership=_owner(known),
                tags=self._tags(one),
                documentation=_documentation(known),
                storage=_storage(known),
                symlinks=_symlinks(known, named.namespace),
            ),
        }

    def _version(self, one: Accessed) -> Json | None:
        for access in self.statement.accesses:
            for version in access.get("object_versions") or ():
                same = one.object_id is not None and version["objectId"] == one.object_id
                if version["access"] == self.access and (same or version["objectName"] == one.name):
                    return facet("DatasetVersionDatasetFacet", datasetVersion=str(version["version"]))
        return None

    def _tags(self, one: Accessed) -> Json | None:
        at: datetime = self.statement.query["start_time"]
        uses = self.known.tags_of(one.object_id, at)
        if not uses:
            return None
        found = [
            {"key": use.tag, "value": use.value, "source": "SPARK"}
            | ({"field": use.column} if use.column else {})
            for use in uses
        ]
        return facet("TagsDatasetFacet", tags=found)


def _schema(one: Accessed, known: CatalogObject | None) -> Json | None:
    if known is not None and known.columns:
        fields: list[dict[str, Any]] = [
            {"name": column.name, "type": column.data_type, "ordinal_position": place}
            | ({"description": column.comment} if column.comment else {})
            for place, column in enumerate(known.columns, 1)
        ]
    else:
        fields = [{"name": name} for name in one.columns]
    return facet("SchemaDatasetFacet", fields=fields) if fields else None


def _source(namespace: str) -> Json:
    return facet(
        "DatasourceDatasetFacet", name=namespace, uri="file:///" if namespace == "file" else namespace
    )


def _owner(known: CatalogObject | None) -> Json | None:
    if known is None or not known.owner:
        return None
    return facet("OwnershipDatasetFacet", owners=[{"name": known.owner, "type": "OWNER"}])


def _documentation(known: CatalogObject | None) -> Json | None:
    if known is None or not known.comment:
        return None
    return facet("DocumentationDatasetFacet", description=known.comment)


def _storage(known: CatalogObject | None) -> Json | None:
    if known is None or not known.provider:
        return None
    if known.provider == "delta":
        return facet("StorageDatasetFacet", storageLayer="delta", fileFormat="parquet")
    form = {"fileFormat": known.provider} if known.provider in _FORMATS else {}
    return facet("StorageDatasetFacet", storageLayer=known.provider, **form)


def _symlinks(known: CatalogObject | None, namespace: str) -> Json | None:
    """Where the table lies: by that a tool that names it by its files finds it."""
    place = None if known is None or known.location is None else location_of(known.location)
    if place is None or place.namespace == namespace:
        return None
    identifier = {"namespace": place.namespace, "name": place.name, "type": "LOCATION"}
    return facet("SymlinksDatasetFacet", identifiers=[identifier])


def _change(statement: RecordedStatement, one: Accessed) -> Json | None:
    for access in statement.accesses:
        changed = access.get("object_modified_by_ddl")
        if changed and changed["objectName"] == one.name:
            state = _OPERATIONS.get(changed["operationType"])
            return facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange=state) if state else None
    for row in statement.tables:
        if row["target_object_name"] == one.name and row["overwrites"]:
            state = "TRUNCATE" if "TRUNC" in statement.query["query_type"] else "OVERWRITE"
            return facet("LifecycleStateChangeDatasetFacet", lifecycleStateChange=state)
    return None


def _counted(query: Row) -> Json | None:
    found = {"rowCount": query.get("rows_produced"), "size": query.get("bytes_written")}
    found = {name: number for name, number in found.items() if number is not None}
    return facet("OutputStatisticsOutputDatasetFacet", **found) if found else None
