"""What a backup holds: `backup.json` in its folder, typed and validated.

In: a backup's folder. Out: a `BackupContent`. Each table is a Delta table of its own below the folder; views
and functions are the facts that bring them back.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from audit.time_travel.backups.files.manifest import FileEntry, sha256_of
from audit.time_travel.backups.store.backup_store import Fetched
from audit.time_travel.errors import BackupDamagedError
from lineage.model import Domain

NAME = "backup.json"
"""The file that says what the backup is of."""
_FORMAT = 1
_LOG = "/_delta_log/"


@dataclass(frozen=True, slots=True)
class BackupTable:
    """A Delta table of a backup.

    Attributes:
        folder: where it lies in the backup's folder, with slashes.
        name: of its source, in full.
        location: of its source.
        table_id: Delta's id of its source.
        version: of its source.
        time: when that version was made, UTC microseconds; 0 before the files are taken, as the next two.
        files: number of data files.
        bytes: of data files and deletion vectors.
        facts: the catalog's of its source, by the names of `CatalogStore.java`.
    """

    folder: str
    name: tuple[str, ...]
    location: str
    table_id: str
    version: int
    time: int = 0
    files: int = 0
    bytes: int = 0
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An object of a schema that its backup does not hold, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class ObjectGrant:
    """A privilege on an object of a backup, as it was granted when the backup was made.

    Attributes:
        domain: TABLE, VIEW or FUNCTION, of the object.
        name: of the object, the last part.
        privilege: as it was granted.
        kind: USER or ROLE.
        grantee: who holds it.
        option: WITH GRANT OPTION.
    """

    domain: Domain
    name: str
    privilege: str
    kind: str
    grantee: str
    option: bool


@dataclass(frozen=True, slots=True)
class BackupContent:
    """What a backup is of.

    Attributes:
        domain: TABLE or SCHEMA.
        name: of that table or schema, in full.
        made: the moment that it shows, UTC microseconds.
        schema: facts of the schema; None for a table's backup. As those of views and functions, by the names
            of `CatalogStore.java`.
        tables: the Delta tables.
        views: the views of a schema.
        functions: the functions of a schema.
        left_out: what a schema has beside them.
        grants: on all of them.
    """

    domain: Domain
    name: tuple[str, ...]
    made: int
    schema: Mapping[str, Any] | None = None
    tables: tuple[BackupTable, ...] = ()
    views: tuple[Mapping[str, Any], ...] = ()
    functions: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    grants: tuple[ObjectGrant, ...] = ()

    @property
    def bytes(self) -> int:
        """Of all tables."""
        return sum(one.bytes for one in self.tables)

    @property
    def files(self) -> int:
        """Data files of all tables."""
        return sum(one.files for one in self.tables)


def write_content(path: Path, content: BackupContent) -> None:
    """Write a content into a file, which has its name when it is whole."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        json.dump(_values(content), file)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def content_in(path: Path) -> BackupContent:
    """The content that a file says.

    Raises:
        BackupDamagedError: it is missing, or no content.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unknown(path, error) from error
    return parse_content(data, path)


def parse_content(data: bytes, path: Path | str) -> BackupContent:
    """The content that the bytes of a file say; `path` for the message.

    Raises:
        BackupDamagedError: they are no content.
    """
    try:
        found = json.loads(data)
        if found["format"] != _FORMAT:
            raise BackupDamagedError(
                f"{path} has format {found['format']}, and this version reads {_FORMAT}",
                "read it with the version that wrote it, or a later one",
            )
        schema = None if found["schema"] is None else _facts(found["schema"])
        return BackupContent(
            Domain[found["domain"]], _name(found["name"]), int(found["made"]), schema,
            tuple(_table(one) for one in found["tables"]),
            tuple(_facts(one) for one in found["views"]),
            tuple(_facts(one) for one in found["functions"]),
            tuple(LeftOut(str(one["name"]), str(one["reason"])) for one in found["left_out"]),
            tuple(_grant(one) for one in found["grants"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError) as error:
        raise _unknown(path, error) from error


def _unknown(path: Path | str, error: Exception) -> BackupDamagedError:
    return BackupDamagedError(
        f"{path} does not say what the backup is of: {error}", "restore another backup of the set"
    )


def is_description(path: str) -> bool:
    """Whether a file of a backup says what it holds, and is no data.

    >>> is_description("tables/0000/_delta_log/00.json"), is_description("tables/0000/a.parquet")
    (True, False)
    """
    return path == NAME or _LOG in path


def require_described(backup: Fetched) -> BackupContent:
    """What a backup holds, if its logs are unchanged; its data files are not looked at.

    Raises:
        BackupDamagedError: a log is missing, or another one; what the backup holds is in no manifest.
    """
    if all(one.path != NAME for one in backup.manifest.files):
        raise _damaged(backup.folder, NAME, "is in no manifest")
    for one in backup.manifest.files:
        if is_description(one.path):
            _require_unchanged(backup.folder, one)
    return content_in(backup.folder / NAME)


def require_restorable(backup: Fetched) -> BackupContent:
    """What a backup holds, if all its files are there in their sizes, and its logs unchanged.

    The bytes of data files are not read: `verify` does that.

    Raises:
        BackupDamagedError: a file is missing, of another size, or a log is another one.
    """
    folder = backup.folder
    for one in backup.manifest.files:
        if is_description(one.path):
            continue
        try:
            size = (folder / one.path).lstat().st_size
        except OSError as error:
            raise _damaged(folder, one.path, "is missing") from error
        if size != one.size:
            raise _damaged(folder, one.path, f"has {size} bytes instead of {one.size}")
    return require_described(backup)


def _require_unchanged(folder: Path, known: FileEntry) -> None:
    try:
        found = sha256_of(folder / known.path)
    except OSError as error:
        raise _damaged(folder, known.path, "cannot be read") from error
    if found != (known.size, known.sha256):
        raise _damaged(folder, known.path, "is not the file of its manifest")


def _damaged(folder: Path, path: str, what: str) -> BackupDamagedError:
    return BackupDamagedError(
        f"backup {folder} is damaged: {path} {what}", "audit backup verify lists all; restore another backup"
    )


def _values(content: BackupContent) -> dict[str, Any]:
    grants = [{**asdict(one), "domain": one.domain.name} for one in content.grants]
    return {"format": _FORMAT, **asdict(content), "domain": content.domain.name, "grants": grants}


def _grant(found: Mapping[str, Any]) -> ObjectGrant:
    return ObjectGrant(
        Domain[found["domain"]], str(found["name"]), str(found["privilege"]), str(found["kind"]),
        str(found["grantee"]), bool(found["option"]),
    )  # fmt: skip


def _table(found: Mapping[str, Any]) -> BackupTable:
    folder = str(found["folder"])
    # It becomes a path below the backup's folder.
    if folder.startswith("/") or ".." in folder.split("/"):
        raise ValueError(f"{folder} lies outside of the backup")
    return BackupTable(
        folder, _name(found["name"]), str(found["location"]), str(found["table_id"]), int(found["version"]),
        int(found["time"]), int(found["files"]), int(found["bytes"]), _facts(found["facts"]),
    )  # fmt: skip


def _name(found: Any) -> tuple[str, ...]:
    if not isinstance(found, list) or not found or not all(isinstance(part, str) for part in found):
        raise TypeError(f"{found!r} is no name")
    return tuple(found)


def _facts(found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise TypeError(f"{found!r} are no facts")
    return found
