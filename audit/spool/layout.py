"""The files of a driver's spool, and its format version.

In: the root of the audit, a driver id. Out: paths. Nothing else knows the names.

    <root>/spool/<driver id>/
        lock                      flock held for the life of the driver
        ingest.lock               flock held while sealed segments are ingested
        meta.json                 format version, host, pid, application id, time of creation
        journal/000000000001.open         being written
        journal/000000000001.recovered    written by recovery, not sealed yet
        sealed/000000000001.jsonl         closed; never changed again
        quarantine/               damaged files, for a person to look at
        batch.json                ingest's own: what it is committing, gone when that is removed
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from audit.core.errors import SpoolVersionError
from audit.spool.segment import sync_directory

if TYPE_CHECKING:
    from pathlib import Path

FORMAT_VERSION = 2
"""Of what is written. In the first one each record was whole; it is read as well."""
_READ = (1, FORMAT_VERSION)
DIRECTORIES = ("journal", "sealed", "quarantine")


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths inside one driver's spool directory."""

    path: Path

    @property
    def driver_id(self) -> str:
        """The driver's id, which is the directory's name."""
        return self.path.name

    @property
    def home(self) -> Path:
        """The folder that holds `spool/`."""
        return self.path.parent.parent

    @property
    def lock(self) -> Path:
        """Held by the living driver."""
        return self.path / "lock"

    @property
    def ingest_lock(self) -> Path:
        """Held by whoever ingests."""
        return self.path / "ingest.lock"

    @property
    def meta(self) -> Path:
        """The format version and who wrote it."""
        return self.path / "meta.json"

    @property
    def journal(self) -> Path:
        """Segments not sealed yet."""
        return self.path / "journal"

    @property
    def sealed(self) -> Path:
        """Segments for ingest."""
        return self.path / "sealed"

    @property
    def quarantine(self) -> Path:
        """Damaged files."""
        return self.path / "quarantine"

    @property
    def batch(self) -> Path:
        """Which sealed segments ingest is committing; there until these are removed."""
        return self.path / "batch.json"

    def open_segment(self, number: int) -> Path:
        """The journal file `number`."""
        # Twelve digits: the names sort as the numbers do.
        return self.journal / f"{number:012d}.open"

    def sealed_segment(self, number: int) -> Path:
        """The sealed file `number`."""
        return self.sealed / f"{number:012d}.jsonl"

    def open_segments(self) -> list[Path]:
        """Journal files, oldest first."""
        return sorted(self.journal.glob("*.open"))

    def sealed_segments(self) -> list[Path]:
        """Sealed files, oldest first."""
        return sorted(self.sealed.glob("*.jsonl"))

    def sealed_bytes(self) -> int:
        """Bytes in sealed files."""
        return _size_of(self.sealed)


def _size_of(directory: Path) -> int:
    """Bytes in the files of a directory, those that vanish meanwhile left out."""
    total = 0
    with os.scandir(directory) as files:
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                total += file.stat(follow_symlinks=False).st_size
    return total


def number_of(segment: Path) -> int:
    """The number in a segment's name.

    Example:
        >>> from pathlib import Path
        >>> number_of(Path("sealed/000000000012.jsonl"))
        12
    """
    return int(segment.name.partition(".")[0])


def spools_under(root: Path) -> Path:
    """The directory that holds one spool a driver."""
    return root / "spool"


def read_meta(layout: Layout) -> dict[str, Any] | None:
    """What meta.json says, or None where it is missing or no JSON object."""
    try:
        meta = orjson.loads(layout.meta.read_bytes())
    except (FileNotFoundError, orjson.JSONDecodeError):
        return None
    return meta if isinstance(meta, dict) else None


def require_version(layout: Layout) -> dict[str, Any]:
    """The meta.json of a spool that this version can read.

    Raises:
        SpoolVersionError: it is of another format, or does not say of which.
    """
    meta = read_meta(layout)
    version = None if meta is None else meta.get("version")
    if meta is None or version not in _READ:
        raise SpoolVersionError(
            f"the spool {layout.path} is of format {version!r}, this package reads formats up to"
            f" {FORMAT_VERSION}",
            "ingest it with the package version that wrote it (`audit ingest`), or move the directory away",
        )
    return meta


def write_file(path: Path, data: bytes) -> None:
    """Writes a whole file so that a crash leaves the old state or the new one, and syncs it.

    Raises:
        OSError: the file system refused; the temporary file is removed.
    """
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            # Before the rename: a power cut could leave the new name with no data otherwise.
            os.fsync(file.fileno())
        # rename(2) is atomic: a reader finds the old file or the new one.
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def move(source: Path, target: Path) -> None:
    """Renames a file into another directory of the same spool, durably.

    Raises:
        OSError: the file system refused.
    """
    source.rename(target)
    # The target first: after a power cut the file may be in both folders, and is in one at least.
    sync_directory(target.parent)
    sync_directory(source.parent)


def set_aside(source: Path, quarantine: Path, *, keep: bool = False) -> Path:
    """Puts a damaged file into quarantine: moved, or copied where `keep` says that it stays.

    Raises:
        OSError: the file system refused.
    """
    target = quarantine / source.name
    if keep:
        write_file(target, source.read_bytes())
    else:
        move(source, target)
    return target
