"""Names of datasets: as OpenLineage has them, and as the record does.

In: the name of an object on record, or namespace and name of a dataset. Out: the other. OpenLineage names a
dataset by where it lies ("Naming Conventions", docs/spec/naming); the record names a table
`catalog.schema.table`, and files by their location.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.names import SESSION_CATALOG, quote_name, split_recorded

if TYPE_CHECKING:
    from audit.core.config import Config

_LOCATION = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<host>[^/]*))?(?P<path>/.*)?")
_OBJECT_STORES = frozenset({"s3", "gs", "abfs", "abfss", "wasb", "wasbs"})
"""Their keys begin with no slash."""
_FILE_SYSTEMS = frozenset({
    "hdfs", "viewfs", "webhdfs", "swebhdfs", "dbfs", "maprfs", "ofs", "o3fs", "adl", "har", "ftp", "sftp",
    "oss", "cosn", "obs", "alluxio", "jfs",
})  # fmt: skip
"""Their paths begin with one. A name in any other namespace does not: `shop.public.orders`, `topic`."""
_SAME_SCHEME = {"s3a": "s3", "s3n": "s3"}
_WITHOUT_CATALOG = frozenset({"spark", "hive"})
"""In their namespaces a table is `schema.table`."""
_GLUE, _GLUE_TABLE = "arn:aws:glue:", "table/"
_SCHEMA_AND_TABLE, _FULL = 2, 3
STAGE = "STAGE"
FOREIGN = "DATASET"
"""The domain of what other systems alone know."""


@dataclass(frozen=True, slots=True, order=True)
class Dataset:
    """A dataset of OpenLineage's."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class NamedObject:
    """An object as the record names it."""

    name: str
    domain: str


def catalogs_of(text: str) -> tuple[tuple[str, str], ...]:
    """The namespaces that stand for catalogs, out of `openlineage_namespaces`.

    >>> catalogs_of("spark://thrift:10001=spark_catalog, hive://metastore:9083 = spark_catalog")
    (('spark://thrift:10001', 'spark_catalog'), ('hive://metastore:9083', 'spark_catalog'))
    """
    pairs = [one.rpartition("=") for one in text.split(",") if one.strip()]
    return tuple((namespace.strip().rstrip("/"), catalog.strip()) for namespace, _, catalog in pairs)


def location_of(text: str) -> Dataset | None:
    """The dataset of files, of a table elsewhere or of a topic, by its URL; None for a name that is no URL.

    >>> location_of("s3a://bucket/in/people.csv")
    Dataset(namespace='s3://bucket', name='in/people.csv')
    >>> location_of("file:/in/people.csv") == location_of("/in/people.csv") == location_of("file:///in/people.csv")
    True
    >>> location_of("postgres://db:5432/shop.public.orders")
    Dataset(namespace='postgres://db:5432', name='shop.public.orders')
    >>> location_of("spark_catalog.s.t")
    """
    if text.startswith("/"):
        return Dataset("file", text.rstrip("/") or "/")
    found = _LOCATION.fullmatch(text)
    if found is None or not (found["path"] or found["host"]):
        return None
    scheme = found["scheme"].lower()
    scheme, path = _SAME_SCHEME.get(scheme, scheme), (found["path"] or "/").rstrip("/") or "/"
    if scheme == "file":
        return Dataset(f"{scheme}://{found['host']}" if found["host"] else scheme, path)
    if scheme not in _FILE_SYSTEMS:
        path = path.lstrip("/") or "/"
    return Dataset(f"{scheme}://{found['host'] or ''}", path)


def type_of(dataset: Dataset, domain: str) -> str:
    """FILE, TABLE, VIEW or TOPIC.

    Args:
        dataset: its name.
        domain: as the record has it; there a place outside of Spark's catalogs is a STAGE, whatever it is.

    >>> type_of(Dataset("file", "/in/x.csv"), "STAGE"), type_of(Dataset("kafka://b:9092", "orders"), "STAGE")
    ('FILE', 'TOPIC')
    >>> type_of(Dataset("postgres://h:5432", "d.s.t"), "STAGE"), type_of(Dataset("hive://m", "s.v"), "VIEW")
    ('TABLE', 'VIEW')
    """
    if domain.upper() != STAGE:
        return "VIEW" if "VIEW" in domain.upper() else "TABLE"
    scheme = dataset.namespace.partition(":")[0]
    if scheme == "kafka":
        return "TOPIC"
    return "FILE" if scheme in _FILE_SYSTEMS | _OBJECT_STORES | {"file"} else "TABLE"


@dataclass(frozen=True, slots=True)
class DatasetNames:
    """Both directions of naming.

    Attributes:
        own: the namespace of catalogs that no other namespace stands for.
        catalogs: pairs of a namespace and the catalog that it stands for; the first one of a catalog is the
            one that exports use.
        places: the objects on record by where their files lie.
    """

    own: str
    catalogs: tuple[tuple[str, str], ...] = ()
    places: Mapping[Dataset, NamedObject] = field(default_factory=dict)

    @classmethod
    def of(cls, config: Config, places: Mapping[str, NamedObject] | None = None) -> DatasetNames:
        """As a configuration says.

        Args:
            config: of the root.
            places: objects on record by the location of their files.
        """
        found = {location_of(where): named for where, named in (places or {}).items()}
        return cls(
            f"spark://{config.account}",
            catalogs_of(config.openlineage_namespaces),
            {where: named for where, named in found.items() if where is not None},
        )

    def dataset(self, name: str) -> Dataset:
        """The dataset of an object on record.

        >>> names = DatasetNames("spark://local", (("hive://m:9083", "spark_catalog"),))
        >>> names.dataset("spark_catalog.s.t"), names.dataset("lake.s.t")  # doctest: +NORMALIZE_WHITESPACE
        (Dataset(namespace='hive://m:9083', name='s.t'), Dataset(namespace='spark://local', name='lake.s.t'))
        """
        if (files := location_of(name)) is not None:
            return files
        catalog, *rest = split_recorded(name)
        for namespace, stands_for in self.catalogs:
            if rest and stands_for.casefold() == catalog.casefold():
                return Dataset(namespace, _name_in(namespace, catalog, rest))
        return Dataset(self.own, name)

    def object(self, datasets: Iterable[Dataset]) -> NamedObject:
        """The object that a dataset is; of several names of it the first one that is known here counts.

        >>> names = DatasetNames("spark://local", (("hive://m:9083", "spark_catalog"),))
        >>> names.object([Dataset("s3://b", "wh/s/t"), Dataset("hive://m:9083", "s.t")])
        NamedObject(name='spark_catalog.s.t', domain='Table')
        >>> names.object([Dataset("kafka://broker:9092", "orders")])
        NamedObject(name='kafka://broker:9092/orders', domain='DATASET')
        """
        known = [*datasets]
        for one in known:
            if (found := self._table(one) or self.places.get(_placed(one) or one)) is not None:
                return found
        first = known[0]
        files = _placed(first)
        if files is None:
            return NamedObject(f"{first.namespace}/{first.name}", FOREIGN)
        return NamedObject(_url(files), STAGE)

    def _table(self, dataset: Dataset) -> NamedObject | None:
        namespace, name = dataset.namespace.rstrip("/"), dataset.name
        if namespace == self.own:
            parts = split_recorded(name)
            full = (SESSION_CATALOG, *parts) if len(parts) == _SCHEMA_AND_TABLE else parts
            return NamedObject(quote_name(full), "Table")
        for one, catalog in self.catalogs:
            if one == namespace:
                parts = _parts_in(namespace, name)
                if len(parts) == _SCHEMA_AND_TABLE:
                    return NamedObject(quote_name((catalog, *parts)), "Table")
                if len(parts) == _FULL and parts[0].casefold() == catalog.casefold():
                    return NamedObject(quote_name(parts), "Table")
        return None


def _name_in(namespace: str, catalog: str, rest: list[str]) -> str:
    scheme = namespace.partition("://")[0]
    if namespace.startswith(_GLUE):
        return _GLUE_TABLE + "/".join(rest)
    return quote_name(rest if scheme in _WITHOUT_CATALOG else (catalog, *rest))


def _parts_in(namespace: str, name: str) -> tuple[str, ...]:
    if namespace.startswith(_GLUE) and name.startswith(_GLUE_TABLE):
        return tuple(name.removeprefix(_GLUE_TABLE).split("/"))
    return split_recorded(name)


def _placed(dataset: Dataset) -> Dataset | None:
    """The dataset of files in the one form of their location; None for what is no file."""
    scheme = dataset.namespace.partition(":")[0].lower()
    scheme = _SAME_SCHEME.get(scheme, scheme)
    if scheme not in _OBJECT_STORES | {"file", "hdfs", "dbfs", "viewfs"}:
        return None
    # Only `file` is a namespace without a host.
    start = "file:" if dataset.namespace.rstrip(":/") == "file" else dataset.namespace.rstrip("/")
    return location_of(f"{start}/{dataset.name.lstrip('/')}")


def _url(files: Dataset) -> str:
    """As the record names a location."""
    if files.namespace == "file":
        return f"file:{files.name}"
    return f"{files.namespace}/{files.name.lstrip('/')}"
