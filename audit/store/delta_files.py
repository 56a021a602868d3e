"""Which files a table under a root has, without a JVM.

In: a root and the name of a table. Out: delta-rs's table, and its data files, which lineage and `audit query`
read by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from audit.core.errors import TableMissingError
from audit.core.file_paths import local_path, without_scheme

if TYPE_CHECKING:
    from deltalake import DeltaTable


class UnsupportedStore(Exception):
    """Tables that delta-rs cannot read; Spark reads them."""


def open_table(root: str, name: str, version: int | None = None) -> DeltaTable:
    """A table under a root, at a version; the newest by default.

    Raises:
        TableMissingError: there is none of that name.
        UnsupportedStore: delta-rs cannot read where it lies, or its log.
    """
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError, TableNotFoundError

    local = local_path(root)
    # As a URL: in a path delta-rs (1.6) would take a % for the beginning of an escape.
    where = f"{root.rstrip('/')}/{name}" if local is None else (local.absolute() / name).as_uri()
    try:
        return DeltaTable(where, version=version)
    except TableNotFoundError as error:
        if str(error).startswith("Unknown scheme"):
            raise UnsupportedStore(str(error)) from error
        raise TableMissingError(
            f"there is no table {name} under {root}",
            "it comes with the first statements that are taken in: run `audit ingest`, or audit.flush(spark)",
        ) from error
    except (DeltaError, OSError, ValueError) as error:
        raise UnsupportedStore(str(error)) from error


def data_files(table: DeltaTable) -> list[str]:
    """The local files of a table's version."""
    # delta-rs gives percent-encoded names.
    folder = urlsplit(table.table_uri).path
    return [unquote(folder) + unquote(without_scheme(uri).removeprefix(folder)) for uri in table.file_uris()]
