"""A version of a Delta table copied to a place of this machine, by links.

In: a table, a version, a folder. Out: a whole Delta table there, of one commit. A backup is made by it and
comes back by it: the id, the properties and the place differ.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.file_paths import local_path
from audit.time_travel.backups.files.link_files import FileToTake, Taken, take_files
from audit.time_travel.errors import BackupIncompleteError, BackupNotLocalError
from lineage.names import quote_name

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from audit.spark.delta.table_copies import CopiedVersion, NewTable
    from audit.spark.delta.values import Table

_CLONE = "CREATE TABLE … DEEP CLONE it to one, and back up the clone"
Progress = Callable[[Taken], None]
"""Is told of each file; by several threads."""


def copy_version(
    catalog: DeltaCatalog,
    source: Table,
    version: int | None,
    folder: Path,
    pairs: Path,
    done: Progress,
    new: NewTable | None = None,
) -> CopiedVersion:
    """Make a table in a folder that nobody reads yet, with links to the files of a version.

    It can be killed at any point and run again. The log is there before the files are: what gives the folder
    a name, a manifest or the catalog, comes afterwards.

    Args:
        catalog: the session that reads the log.
        source: a Delta table.
        version: of it; None for the newest.
        folder: of the copy.
        pairs: a file for what is on its way; it is gone afterwards.
        done: is told of each file.
        new: makes it a table of its own; None for the same table.

    Raises:
        BackupIncompleteError: a file of the version is missing, or cannot be taken.
        BackupNotLocalError: a file of the version is not on this machine.
        UnreadableTableError: the log of the table is damaged, or does not have the version.
    """
    name = quote_name(source.name)
    made = catalog.copy_log(source.location or "", version, name, folder, pairs, new)
    link_listed(source, made, folder, pairs, done)
    return made


def link_listed(source: Table, made: CopiedVersion, folder: Path, pairs: Path, done: Progress) -> None:
    """Link the files of a list into a folder.

    Args:
        source: whose files they are, for messages.
        made: the version, for messages.
        folder: where they go.
        pairs: the list; it is deleted afterwards.
        done: is told of each file.

    Raises as `copy_version`.
    """
    with not_whole(source.name, made.version), pairs.open(encoding="utf-8") as lines:
        take_files(_files(lines, source), folder, done)
    pairs.unlink()


@contextmanager
def not_whole(name: tuple[str, ...], version: int) -> Iterator[None]:
    """Say of which version of a table a file is missing.

    Raises:
        BackupIncompleteError: a file was missing, or could not be taken.
    """
    try:
        yield
    except BackupIncompleteError as error:
        missing = error.__cause__
        if isinstance(missing, FileNotFoundError):
            raise BackupIncompleteError(
                f"version {version} of {quote_name(name)} is not whole: {missing.filename} is missing",
                "RESTORE the table to a version whose files are there, then run it again",
            ) from error
        raise


def require_local(name: tuple[str, ...], location: str, way_out: str = _CLONE) -> Path:
    """The place of a table on this machine.

    >>> require_local(("s", "t"), "file:/w/t").as_posix()
    '/w/t'

    Args:
        name: of the table.
        location: of its files.
        way_out: what to do where they are elsewhere.

    Raises:
        BackupNotLocalError: they are elsewhere.
    """
    place = local_path(location)
    if place is None:
        raise BackupNotLocalError(
            f"{quote_name(name)} lies at {location}, not on a file system of this machine",
            way_out,
        )
    return place


def _files(lines: Iterator[str], source: Table) -> Iterator[FileToTake]:
    for line in lines:
        path, target = json.loads(line)
        if not path.startswith("/"):
            require_local(source.name, path)
        yield FileToTake(Path(path), target)
