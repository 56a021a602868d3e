"""Which files a table under a root has, without a JVM.

In: a root and the name of a table. Out: delta-rs's table, its data files, which lineage and `audit query`
read by themselves, their size and the types of its columns.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from audit.core.errors import TableMissingError
from audit.core.file_paths import local_path, without_scheme

if TYPE_CHECKING:
    from deltalake import DeltaTable


_HARMLESS = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
"""Features of Delta under which a data file still holds what it says."""
_IN_SQL = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


class UnsupportedStore(Exception):
    """Tables that delta-rs cannot read; Spark reads them."""


def open_table(root: str, name: str, version: int | None = None, *, plain: bool = True) -> DeltaTable:
    """A table under a root, at a version; the newest by default.

    Args:
        root: the folder that it lies in.
        name: of its folder.
        version: None: the newest.
        plain: its files alone have to tell what is in it; otherwise the caller looks at deletion vectors
            and mapped columns.

    Raises:
        TableMissingError: there is none of that name.
        UnsupportedStore: delta-rs cannot read where it lies, or its log; or its files alone do not tell
            what is in it, and have to.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    local = local_path(root)
    # As a URL: in a path delta-rs (1.6) would take a % for the beginning of an escape.
    where = f"{root.rstrip('/')}/{name}" if local is None else (local.absolute() / name).as_uri()
    try:
        table = DeltaTable(where, version=version)
    except TableNotFoundError as error:
        if str(error).startswith("Unknown scheme"):
            raise UnsupportedStore(str(error)) from error
        raise TableMissingError(
            f"there is no table {name} under {root}",
            "it comes with the first statements that are taken in: run `audit ingest`, or audit.flush(spark)",
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        raise UnsupportedStore(str(error)) from error
    if plain:
        _require_plain(table)
    return table


def _require_plain(table: DeltaTable) -> None:
    # delta-rs (1.6) opens a table with deletion vectors or mapped columns, and lists files whose rows are
    # partly deleted, or whose columns have other names.
    features = set(table.protocol().reader_features or ()) - _HARMLESS
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    else:
        features.discard("columnMapping")
    if features:
        raise UnsupportedStore(f"{table.table_uri} has {', '.join(sorted(features))}")


def data_files(table: DeltaTable) -> list[str]:
    """The local files of a table's version."""
    # delta-rs gives percent-encoded names.
    folder = urlsplit(table.table_uri).path
    return [unquote(folder) + unquote(without_scheme(uri).removeprefix(folder)) for uri in table.file_uris()]


def size(table: DeltaTable) -> int:
    """Bytes of the files of a table's version; those of older versions stay until a VACUUM."""
    # Of a table without files delta-rs (1.6) has no such column.
    actions = table.get_add_actions()
    return sum(actions["size_bytes"].to_pylist()) if actions.num_rows else 0


def column_types(table: DeltaTable) -> dict[str, str]:
    """The type of each column of a table, as Spark's `simpleString` writes it."""
    fields: list[dict[str, Any]] = json.loads(table.schema().to_json())["fields"]
    return {field["name"]: _simple(field["type"]) for field in fields}


def _simple(kind: Any) -> str:
    """A type of Delta's schema as Spark writes it.

    >>> struct = {"type": "struct", "fields": [{"name": "a", "type": "long"}]}
    >>> _simple({"type": "array", "elementType": struct})
    'array<struct<a:bigint>>'
    """
    if isinstance(kind, str):
        return _IN_SQL.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_simple(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_simple(kind['keyType'])},{_simple(kind['valueType'])}>"
    fields = [f"{one['name']}:{_simple(one['type'])}" for one in kind["fields"]]
    return f"struct<{','.join(fields)}>"
