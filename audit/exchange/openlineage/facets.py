"""A facet: what an event says beside the names, each by a published schema of its own.

In: the name of a schema and a body. Out: the body with its producer and its schema's address.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any

Json = dict[str, Any]

SPEC = "https://openlineage.io/spec"
RUN_EVENT = f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
VERSIONS = {
    "ColumnLineageDatasetFacet": "1-2-0",
    "DatasetTypeDatasetFacet": "1-0-1",
    "DatasetVersionDatasetFacet": "1-0-1",
    "DatasourceDatasetFacet": "1-0-1",
    "DocumentationDatasetFacet": "1-1-0",
    "ErrorMessageRunFacet": "1-0-1",
    "InputStatisticsInputDatasetFacet": "1-0-0",
    "JobTypeJobFacet": "2-0-3",
    "LifecycleStateChangeDatasetFacet": "1-0-1",
    "OutputStatisticsOutputDatasetFacet": "1-0-2",
    "OwnershipDatasetFacet": "1-0-1",
    "ParentRunFacet": "1-1-0",
    "ProcessingEngineRunFacet": "1-1-1",
    "SchemaDatasetFacet": "1-2-0",
    "SourceCodeJobFacet": "1-0-1",
    "SQLJobFacet": "1-1-0",
    "StorageDatasetFacet": "1-0-1",
    "SymlinksDatasetFacet": "1-0-1",
    "TagsDatasetFacet": "1-0-0",
    "TagsRunFacet": "1-0-0",
}
"""The version of each schema that events keep to."""


@cache
def adapter_version() -> str:
    """The version of this package."""
    return metadata.version("spark-access-history")


def producer() -> str:
    """What made an event: this package and its version, as a package URL.

    >>> producer().partition("@")[0]
    'pkg:pypi/spark-access-history'
    """
    return f"pkg:pypi/spark-access-history@{adapter_version()}"


def facet(schema: str, **body: Any) -> Json:
    """A facet of one of the schemas of `VERSIONS`."""
    address = f"{SPEC}/facets/{VERSIONS[schema]}/{schema}.json#/$defs/{schema}"
    return {"_producer": producer(), "_schemaURL": address, **body}


def facets(**given: Json | None) -> Json:
    """Those that there are.

    >>> facets(sql=None, tags={"a": 1})
    {'tags': {'a': 1}}
    """
    return {name: body for name, body in given.items() if body is not None}
