"""The versions of a table that the person's row is looked for in.

In: the folder of a Delta table, its id on record, the key. Out: for each version, whether it holds the row,
and the row itself, on which conditions are evaluated. Every data file is read once, whichever versions it is
in: DuckDB looks for the key, delta-rs says which files, columns and deleted rows a version has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from audit.core.errors import TableMissingError
from audit.core.file_paths import local_path, without_scheme
from audit.query.translation import quoted, sql_value
from audit.report.subject.columns import duckdb_type, fields, fits, is_comparable, physical_of
from audit.report.subject.key import Key
from audit.store.delta_files import UnsupportedStore, data_files, open_table
from lineage.catalog.object_ids import object_id

if TYPE_CHECKING:
    import duckdb
    from deltalake import DeltaTable

_MODE = "delta.columnMapping.mode"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A version in which nobody can look: why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Held:
    """What a version holds of the person.

    Attributes:
        rows: the relation in DuckDB that has the rows, under the names of their columns; "": it has none.
        kinds: Delta's types of its plain columns, by name in lower case.
        is_whole: whether all files of the version are there.
    """

    rows: str
    kinds: Mapping[str, str]
    is_whole: bool


@dataclass(slots=True)
class TableVersions:
    """The versions of one table.

    Attributes:
        connection: to a DuckDB of its own, in memory.
        folder: of the table; None: no record says where it lies.
        number: of the table in this report.
        own_id: on record.
        key: of the person.
    """

    connection: duckdb.DuckDBPyConnection
    folder: str | None
    number: int
    own_id: int
    key: Key
    _found: dict[int, Held | Unknown] = field(default_factory=dict)

    def look_into(self, versions: Sequence[int]) -> None:
        """Look for the row in these versions, all at once."""
        every = {version: self._opened(version) for version in versions}
        tables = {version: one for version, one in every.items() if not isinstance(one, Unknown)}
        self._found |= {version: one for version, one in every.items() if isinstance(one, Unknown)}
        by_name: dict[str, list[int]] = {}
        for version, table in tables.items():
            column = fields(table)[self.key.column.casefold()]
            by_name.setdefault(physical_of(column), []).append(version)
        for number, (physical, those) in enumerate(by_name.items()):
            self._look(f"subject_{self.number}_{number}", physical, {one: tables[one] for one in those})

    def at(self, version: int) -> Held | Unknown:
        """What a version holds."""
        return self._found[version]

    def _opened(self, version: int) -> DeltaTable | Unknown:
        if self.folder is None:
            return Unknown("no record says where the table's files lie: name it as NAME=FOLDER")
        if local_path(self.folder) is None:
            return Unknown("the table's files lie on a store that the replay does not read")
        table = opened(self.folder, version)
        if table is None:
            is_there = opened(self.folder) is not None
            return Unknown("the version is no longer kept" if is_there else "the table's files are gone")
        if object_id("TABLE", str(table.metadata().id)) != self.own_id:
            return Unknown("another table lies in the folder by now")
        reason = self._unreadable(table)
        return Unknown(reason) if reason else table

    def _unreadable(self, table: DeltaTable) -> str:
        column, metadata = fields(table).get(self.key.column.casefold()), table.metadata()
        if column is None:
            return f"this version has no column {self.key.column}"
        if metadata.configuration.get(_MODE) == "id":
            return "the table knows its columns by ids, and the replay by names"
        if column["name"] in metadata.partition_columns:
            return f"the table is partitioned by {self.key.column}, which is in no file"
        if not is_comparable(column) or not fits(self.key, column):
            return f"{self.key.column} had a type by which the replay does not compare"
        return ""

    def _look(self, name: str, physical: str, tables: Mapping[int, DeltaTable]) -> None:
        files = {version: data_files(table) for version, table in tables.items()}
        there = sorted({one for of in files.values() for one in of if Path(one).is_file()})
        if not self._find(name, physical, there):
            unread = Unknown("the files of these versions cannot be read together")
            self._found |= dict.fromkeys(tables, unread)
            return
        for version, table in tables.items():
            self._found[version] = self._held(name, version, table, frozenset(files[version]), set(there))

    def _find(self, name: str, physical: str, files: Sequence[str]) -> bool:
        """Make a table of all rows of the person in these files; False where they cannot be read together."""
        import duckdb

        if not files:
            self.connection.execute(f"CREATE TABLE {name} (filename VARCHAR, file_row_number BIGINT)")
            return True
        read = (
            "read_parquet($files, union_by_name = true, filename = true, file_row_number = true,"
            " hive_partitioning = false)"
        )
        value = sql_value(self.key.value) if self.key.is_text else self.key.value
        wanted = f"{quoted(physical)} = {value}"
        sql = f"CREATE TABLE {name} AS SELECT * FROM {read} WHERE {wanted}"  # noqa: S608 - quoted
        try:
            self.connection.execute(sql, {"files": list(files)})
        except duckdb.Error:
            return False
        return True

    def _held(
        self, name: str, version: int, table: DeltaTable, files: frozenset[str], there: set[str]
    ) -> Held | Unknown:
        deleted = _deleted(table)
        found = self.connection.execute(f"SELECT DISTINCT filename, file_row_number FROM {name}").fetchall()  # noqa: S608 - a name of ours
        kept = [
            (file, row) for file, row in found if file in files and row not in deleted.get(file, frozenset())
        ]
        columns = [one for one in fields(table).values() if duckdb_type(one) is not None]
        kinds = {one["name"].casefold(): one["type"] for one in columns}
        if not kept:
            return Held("", kinds, files <= there)
        own = f"{name}_{version}"
        self._show(own, name, table, columns, kept)
        return Held(own, kinds, files <= there)

    def _show(
        self,
        own: str,
        name: str,
        table: DeltaTable,
        columns: Sequence[Mapping[str, Any]],
        kept: Sequence[tuple[str, int]],
    ) -> None:
        """Make the view of a version: the kept rows, its columns under their names."""
        parts = [one for one in columns if one["name"] in table.metadata().partition_columns]
        values = _partitions(table, [physical_of(one) for one in parts])
        made = ", ".join(f"part_{n} {duckdb_type(one)}" for n, one in enumerate(parts))
        self.connection.execute(
            f"CREATE TABLE {own}_kept (file VARCHAR, row_number BIGINT{', ' + made if made else ''})"
        )
        marks = ", ".join("?" for _ in range(2 + len(parts)))
        self.connection.executemany(
            f"INSERT INTO {own}_kept VALUES ({marks})",  # noqa: S608 - marks alone
            [(file, row, *values.get(file, ())) for file, row in kept],
        )
        in_files = {one for one, *_ in self.connection.execute(f"DESCRIBE {name}").fetchall()}
        shown = [f"{_source(one, parts, in_files)} AS {quoted(one['name'])}" for one in columns]
        self.connection.execute(
            f"CREATE VIEW {own} AS SELECT {', '.join(shown)} FROM {name} JOIN {own}_kept"  # noqa: S608 - quoted
            " ON filename = file AND file_row_number = row_number"
        )


def opened(folder: str, version: int | None = None) -> DeltaTable | None:
    """The Delta table of a folder at a version, the newest by default; None where there is none."""
    parent, _, name = folder.rstrip("/").rpartition("/")
    try:
        return open_table(parent, name, version, plain=False)
    except (UnsupportedStore, TableMissingError):
        return None


def _source(column: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], in_files: Collection[str]) -> str:
    """Where the values of a column stand: beside the row, or in its file."""
    if column in parts:
        return f"part_{parts.index(column)}"
    # Files that are older than a column do not have it.
    physical = physical_of(column)
    return quoted(physical) if physical in in_files else f"NULL::{duckdb_type(column)}"


def _partitions(table: DeltaTable, names: Sequence[str]) -> dict[str, tuple[Any, ...]]:
    """The values of partition columns, by file."""
    import pyarrow as pa

    if not names:
        return {}
    rows = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    folder = Path(unquote(urlsplit(table.table_uri).path))
    return {
        _plain_path(row["path"], folder): tuple(row[f"partition.{name}"] for name in names) for row in rows
    }


def _deleted(table: DeltaTable) -> dict[str, frozenset[int]]:
    """The numbers of the rows that a version has deleted in place, by file (deletion vectors)."""
    import pyarrow as pa

    rows = pa.table(table.deletion_vectors()).to_pylist()
    folder = Path(unquote(urlsplit(table.table_uri).path))
    return {
        _plain_path(one["filepath"], folder): frozenset(
            number for number, is_kept in enumerate(one["selection_vector"]) if not is_kept
        )
        for one in rows
    }


def _plain_path(uri: str, folder: Path) -> str:
    path = unquote(without_scheme(uri))
    return path if path.startswith("/") else str(folder / path)
