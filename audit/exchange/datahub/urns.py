"""Names of DataHub's: URNs of datasets, fields, tags, users and roles.

In: names of OpenLineage's. Out: URNs.
"""

from __future__ import annotations

from dataclasses import dataclass

from audit.exchange.names import Dataset

_PLATFORMS = {
    "unitycatalog": "databricks", "gs": "gcs", "abfs": "abs", "abfss": "abs", "wasb": "abs", "wasbs": "abs",
    "arn": "glue", "awsathena": "athena", "sqlserver": "mssql",
}  # fmt: skip
"""Where DataHub calls a platform by another name than the namespace's scheme."""
_BUCKETS = frozenset({"s3", "gs"})
_RESERVED = str.maketrans({",": "%2C", "(": "%28", ")": "%29", "%": "%25"})
_GLUE_TABLE = "table/"


@dataclass(frozen=True, slots=True)
class Urns:
    """Makes URNs.

    Attributes:
        environment: DataHub's fabric: PROD, DEV, ….
    """

    environment: str = "PROD"

    def dataset(self, dataset: Dataset) -> str:
        """A dataset.

        >>> Urns().dataset(Dataset("hive://m:9083", "s.t"))
        'urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)'
        >>> Urns("DEV").dataset(Dataset("s3://bucket", "in/x,1.csv"))
        'urn:li:dataset:(urn:li:dataPlatform:s3,bucket/in/x%2C1.csv,DEV)'
        """
        platform = platform_of(dataset)
        name = dataset.name
        if dataset.namespace.partition("://")[0] in _BUCKETS:
            name = f"{dataset.namespace.partition('://')[2]}/{name}"
        elif platform.endswith(":glue"):
            name = name.removeprefix(_GLUE_TABLE).replace("/", ".")
        return f"urn:li:dataset:({platform},{name.translate(_RESERVED)},{self.environment})"

    def field(self, dataset: Dataset, column: str) -> str:
        """A column of a dataset."""
        return f"urn:li:schemaField:({self.dataset(dataset)},{column.translate(_RESERVED)})"


def platform_of(dataset: Dataset) -> str:
    """The platform that holds a dataset, by its namespace.

    >>> platform_of(Dataset("arn:aws:glue:eu-west-1:1", "table/s/t")), platform_of(Dataset("file", "/x"))
    ('urn:li:dataPlatform:glue', 'urn:li:dataPlatform:file')
    """
    scheme = dataset.namespace.partition(":")[0].lower()
    return f"urn:li:dataPlatform:{_PLATFORMS.get(scheme, scheme)}"


def tag_urn(tag: str, value: str) -> str:
    """A tag with its value, as DataHub knows no values of tags.

    >>> tag_urn("c.s.pii", "high")
    'urn:li:tag:c.s.pii:high'
    """
    return f"urn:li:tag:{tag}:{value}".rstrip(":") if value else f"urn:li:tag:{tag}"


def actor_urn(name: str) -> str:
    """A user, or a role, which the record does not tell apart.

    >>> actor_urn("ann")
    'urn:li:corpuser:ann'
    """
    return f"urn:li:corpuser:{name.translate(_RESERVED)}"
