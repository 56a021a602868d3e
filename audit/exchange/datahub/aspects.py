"""The aspects of datasets and tags, as DataHub's models have them.

In: what is known of a dataset. Out: change proposals, as its file emitter writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from audit.core.clock import to_micros
from audit.exchange.accessed import Accessed
from audit.exchange.catalog import CatalogColumn, CatalogObject, TagUse
from audit.exchange.datahub.urns import Urns, actor_urn, platform_of, tag_urn
from audit.exchange.names import Dataset, type_of

Json = dict[str, Any]
_KINDS = {
    "string": "StringType", "varchar": "StringType", "char": "StringType", "boolean": "BooleanType",
    "date": "DateType", "timestamp": "TimeType", "timestamp_ntz": "TimeType", "binary": "BytesType",
    "array": "ArrayType", "map": "MapType", "struct": "RecordType",
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "NumberType"),
}  # fmt: skip
_BY = "urn:li:corpuser:spark-access-history"


@dataclass(slots=True)
class Edges:
    """What went into a dataset since it was overwritten last.

    Attributes:
        datasets: the sources as a whole, with the time and the user of the newest statement.
        fields: the source columns of each column, with what was done to them.
    """

    datasets: dict[Dataset, tuple[datetime, str]] = field(default_factory=dict)
    fields: dict[str, dict[tuple[Dataset, str], str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Known:
    """A dataset with all that is known of it.

    Attributes:
        dataset: its name in other tools.
        accessed: its name on record, its domain and columns.
        measured: as the catalog was measured last.
        tags: those that are on it now.
        is_removed: it was dropped.
        edges: what went into it.
    """

    dataset: Dataset
    accessed: Accessed
    measured: CatalogObject | None
    tags: tuple[TagUse, ...]
    is_removed: bool
    edges: Edges


def dataset_proposals(known: Known, urns: Urns) -> Iterator[Json]:
    """The aspects of a dataset."""
    urn = urns.dataset(known.dataset)

    def proposal(aspect: str, body: Json) -> Json:
        return _proposal("dataset", urn, aspect, body)

    yield proposal("status", {"removed": known.is_removed})
    yield proposal("datasetProperties", _properties(known))
    yield proposal("subTypes", {"typeNames": [type_of(known.dataset, known.accessed.domain).capitalize()]})
    if (columns := _columns(known)) is not None:
        yield proposal("schemaMetadata", _schema(known, columns))
    if known.measured is not None and known.measured.owner:
        owner = {"owner": actor_urn(known.measured.owner), "type": "DATAOWNER"}
        yield proposal("ownership", {"owners": [owner], "lastModified": {"time": 0, "actor": _BY}})
    if whole := [use for use in known.tags if use.column is None]:
        yield proposal("globalTags", _tags(whole))
    if known.edges.datasets:
        yield proposal("upstreamLineage", _lineage(known, urns))


def tag_proposals(uses: Iterable[TagUse]) -> Iterator[Json]:
    """The tags themselves, each once."""
    for tag, value in sorted({(use.tag, use.value) for use in uses}):
        name = f"{tag}: {value}" if value else tag
        yield _proposal("tag", tag_urn(tag, value), "tagProperties", {"name": name})


def _proposal(kind: str, urn: str, aspect: str, body: Json) -> Json:
    return {
        "entityType": kind,
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"json": body},
    }


def _properties(known: Known) -> Json:
    found: Json = {
        "name": known.dataset.name.rpartition("/")[2].rpartition(".")[2] or known.dataset.name,
        "qualifiedName": known.accessed.name,
        "customProperties": {"objectDomain": known.accessed.domain},
    }
    if known.accessed.object_id is not None:
        found["customProperties"]["objectId"] = str(known.accessed.object_id)
    if known.measured is not None:
        told = {"provider": known.measured.provider, "location": known.measured.location}
        found["customProperties"] |= {name: value for name, value in told.items() if value}
        if known.measured.comment:
            found["description"] = known.measured.comment
    return found


def _columns(known: Known) -> tuple[CatalogColumn, ...] | None:
    """As measured; else those that records name, without a type."""
    if known.measured is not None and known.measured.columns:
        return known.measured.columns
    names = dict.fromkeys((*known.accessed.columns, *known.edges.fields))
    return tuple(CatalogColumn(name, "", None) for name in names) or None


def _schema(known: Known, columns: tuple[CatalogColumn, ...]) -> Json:
    return {
        "schemaName": known.accessed.name,
        "platform": platform_of(known.dataset),
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [_field(column, known.tags) for column in columns],
    }


def _field(column: CatalogColumn, tags: tuple[TagUse, ...]) -> Json:
    kind = column.data_type.partition("<")[0].partition("(")[0].strip().lower()
    found: Json = {
        "fieldPath": column.name,
        "nullable": True,
        "type": {"type": {f"com.linkedin.schema.{_KINDS.get(kind, 'NullType')}": {}}},
        "nativeDataType": column.data_type or "unknown",
        "recursive": False,
    }
    if column.comment:
        found["description"] = column.comment
    if uses := [use for use in tags if use.column == column.name]:
        found["globalTags"] = _tags(uses)
    return found


def _tags(uses: Iterable[TagUse]) -> Json:
    return {"tags": [{"tag": tag_urn(use.tag, use.value)} for use in uses]}


def _lineage(known: Known, urns: Urns) -> Json:
    kind = "VIEW" if known.accessed.domain.upper() == "VIEW" else "TRANSFORMED"
    upstreams = [
        {
            "dataset": urns.dataset(source),
            "type": kind,
            "auditStamp": {"time": _millis(at), "actor": actor_urn(user)},
        }
        for source, (at, user) in sorted(known.edges.datasets.items())
    ]
    columns = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [urns.field(*source) for source in sources],
            "downstreamType": "FIELD",
            "downstreams": [urns.field(known.dataset, column)],
            "transformOperation": ", ".join(sorted({how for how in sources.values() if how})),
            "confidenceScore": 1.0,
        }
        for column, sources in known.edges.fields.items()
    ]
    return {"upstreams": upstreams, "fineGrainedLineages": columns}


def _millis(at: datetime) -> int:
    # Times of the tables are UTC, without a zone.
    return to_micros(at.replace(tzinfo=timezone.utc)) // 1000
