"""The two lineage tables, and what was imported, read without a JVM, once for each of their versions.

In: a root. Out: a `Snapshot` of the graph. delta-rs says which files a version has; files of this machine are
read by pyarrow, those elsewhere through delta-rs with the credentials of the environment. If it does not
support the store (HDFS), a SparkSession reads.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from audit.core.errors import TableMissingError
from audit.core.file_paths import local_path
from audit.graph.errors import LineageTablesUnreadable
from audit.graph.history import COLUMN_FIELDS, TABLE_FIELDS, TEXTS, History
from audit.graph.imported import IMPORTED_FIELDS, with_imported
from audit.graph.snapshot import FOREVER, Snapshot
from audit.store.delta_files import UnsupportedStore, data_files, open_table

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa
    from deltalake import DeltaTable
    from pyspark.sql import SparkSession

COLUMN_LINEAGE, TABLE_LINEAGE = "column_lineage", "table_lineage"
IMPORTED = "imported_lineage"
_FIELDS = {COLUMN_LINEAGE: COLUMN_FIELDS, TABLE_LINEAGE: TABLE_FIELDS, IMPORTED: IMPORTED_FIELDS}


@dataclass(frozen=True, slots=True)
class LineageTables:
    """The lineage tables under a root at one version; equal ones hold the same rows."""

    root: str
    versions: tuple[int, int, int | None]
    """Of column_lineage, table_lineage and imported_lineage; None where nothing was imported."""

    @classmethod
    def newest(cls, root: str) -> LineageTables:
        """The newest versions.

        Raises:
            LineageTablesUnreadable: a table is not there, or its log cannot be read.
        """
        column, table = (_open(root, name).version() for name in (COLUMN_LINEAGE, TABLE_LINEAGE))
        return cls(root, (column, table, _version_of_imported(root)))

    def read(self, name: str) -> pa.Table:
        """The rows of one of the tables, with the columns that the graph needs."""
        version = self.versions[list(_FIELDS).index(name)]
        return _read(_open(self.root, name, version), _FIELDS[name], remote=local_path(self.root) is None)


def snapshot_of(
    root: str, moment: int | None = None, spark: Callable[[], SparkSession] | None = None
) -> Snapshot:
    """The graph under a root as of a moment (UTC microseconds; None: now).

    Args:
        root: folder of the audit tables.
        moment: the last microsecond that counts.
        spark: gives a session that reads what delta-rs cannot.

    Raises:
        LineageTablesUnreadable: the tables are not there, or nothing here can read them.
    """
    try:
        tables = LineageTables.newest(root)
    except UnsupportedStore as error:
        if spark is None:
            raise LineageTablesUnreadable(
                f"the lineage tables under {root} cannot be read without Spark ({error})",
                "ask with audit.lineage(spark, ...) instead",
            ) from error
        return Snapshot.of(_by_spark(spark(), root), FOREVER if moment is None else moment)
    return _snapshot(tables, FOREVER if moment is None else moment)


# One history, since of a million edges it takes 150 MB; two moments of it, to compare.
@lru_cache(maxsize=1)
def _history(tables: LineageTables) -> History:
    both = tables.read(COLUMN_LINEAGE), tables.read(TABLE_LINEAGE)
    has_more = tables.versions[2] is not None
    return History.read(*(with_imported(*both, tables.read(IMPORTED)) if has_more else both))


@lru_cache(maxsize=2)
def _snapshot(tables: LineageTables, moment: int) -> Snapshot:
    return Snapshot.of(_history(tables), moment)


def _version_of_imported(root: str) -> int | None:
    try:
        return open_table(root, IMPORTED).version()
    except TableMissingError:
        return None


def _open(root: str, name: str, version: int | None = None) -> DeltaTable:
    try:
        return open_table(root, name, version)
    except TableMissingError as error:
        raise LineageTablesUnreadable(*error.args) from error


def _read(table: DeltaTable, fields: tuple[str, ...], *, remote: bool) -> pa.Table:
    import pyarrow as pa

    dictionary = [name for name in fields if name in TEXTS]
    if remote:
        from pyarrow.dataset import ParquetReadOptions

        options = ParquetReadOptions(dictionary_columns=set(dictionary))
        return table.to_pyarrow_dataset(parquet_read_options=options).to_table(columns=list(fields))
    # pyarrow.dataset takes longer to import than a usual history to read.
    from pyarrow.parquet import ParquetFile

    def one(path: str) -> pa.Table:
        # Spark writes INT96, which has nanoseconds if nobody says otherwise.
        with ParquetFile(path, read_dictionary=dictionary, coerce_int96_timestamp_unit="us") as file:
            return file.read(columns=list(fields), use_threads=False)

    # Arrow releases Python's lock while it reads a file.
    with ThreadPoolExecutor() as pool:
        parts = list(pool.map(one, data_files(table)))
    if not parts:  # a table without a file yet
        return pa.schema(table.schema().to_arrow()).empty_table().select(list(fields))
    # Files of an older version lack columns.
    return pa.concat_tables(parts, promote_options="permissive")


def _by_spark(spark: SparkSession, root: str) -> History:
    from audit.spark.delta.delta_log import delta_log

    def rows(name: str) -> Any:
        frame = spark.read.format("delta").load(f"{root.rstrip('/')}/{name}")
        return frame.select(*_FIELDS[name]).toArrow()

    both = rows(COLUMN_LINEAGE), rows(TABLE_LINEAGE)
    if not delta_log(spark, f"{root.rstrip('/')}/{IMPORTED}").tableExists():
        return History.read(*both)
    return History.read(*with_imported(*both, rows(IMPORTED)))
