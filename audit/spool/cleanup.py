"""Removes ingested segments, and empty spools of dead drivers.

In: paths that ingest has committed, directories of dead drivers. Out: a smaller disk. A damaged
file is never removed: it goes to quarantine for a person to look at.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from audit.core.errors import SpoolEntryError
from audit.spool.layout import Layout, require_version, set_aside
from audit.spool.liveness import release_lock, take_lock
from audit.spool.segment import Survey, survey, sync_directory

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Removed:
    """The contents of removed segments: records, the oldest statement, and the new paths of damaged files."""

    statements: int
    first_id: str | None
    damaged: tuple[Path, ...]


def remove_ingested(
    spool_dir: Path, paths: Iterable[Path], surveys: Mapping[Path, Survey] = MappingProxyType({})
) -> Removed:
    """Removes sealed segments after ingest has committed them. Ones already gone are passed over.

    The caller holds the ingest lock.

    Args:
        spool_dir: the driver's directory, alive or dead.
        paths: files of its `sealed/`.
        surveys: of those that were just read; the others are looked through.

    Raises:
        SpoolEntryError: a path is no sealed segment of this spool; nothing is removed.
        OSError: the file system refused.
    """
    layout = Layout(spool_dir)
    chosen = [layout.sealed / path.name for path in _checked(layout, paths)]
    statements, oldest, damaged = 0, [], []
    for path in chosen:
        if not path.exists():
            continue
        found = surveys.get(path) or survey(path.read_bytes())
        statements += found.statements
        if found.first_id is not None:
            oldest.append(found.first_id)
        if found.is_whole:
            path.unlink()
        else:
            damaged.append(set_aside(path, layout.quarantine))
    if chosen:
        sync_directory(layout.sealed)
    return Removed(statements, min(oldest, default=None), tuple(damaged))


def _checked(layout: Layout, paths: Iterable[Path]) -> list[Path]:
    paths = list(paths)
    for path in paths:
        if path.suffix != ".jsonl" or path.resolve().parent != layout.sealed.resolve():
            raise SpoolEntryError(
                f"{path} is no sealed segment of {layout.path}", "pass files of its sealed/ only"
            )
    return paths


def retire(spool_dir: Path) -> bool:
    """Removes the directory of a dead driver from which nothing is left to recover or to ingest.

    Quarantined files move to `<root>/quarantine/<driver id>/`. Killed half-way, it leaves a hidden
    directory, which the next call for any spool of that root removes.

    Returns:
        Whether it was removed; False where a process holds it or something is left in it.

    Raises:
        SpoolVersionError: the spool is of another format.
        OSError: the file system refused.
    """
    layout = Layout(spool_dir)
    _sweep(spool_dir.parent)
    if not spool_dir.is_dir():
        return False
    require_version(layout)
    # With both neither a driver, nor a recovery, nor an ingest works on it.
    locks = [take_lock(layout.lock), take_lock(layout.ingest_lock)]
    try:
        if None in locks or any(layout.journal.iterdir()) or layout.sealed_segments():
            return False
        _keep_quarantine(layout)
        hidden = spool_dir.with_name(f".retired-{spool_dir.name}")
        spool_dir.rename(hidden)
        sync_directory(spool_dir.parent)
        shutil.rmtree(hidden, ignore_errors=True)
    finally:
        for lock in locks:
            if lock is not None:
                release_lock(lock)
    return True


def _sweep(parent: Path) -> None:
    if parent.is_dir():
        for hidden in parent.glob(".retired-*"):
            shutil.rmtree(hidden, ignore_errors=True)


def _keep_quarantine(layout: Layout) -> None:
    if not any(layout.quarantine.iterdir()):
        return
    root = layout.path.parent.parent
    target = root / "quarantine" / layout.driver_id
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(layout.quarantine.iterdir()):
        path.rename(target / path.name)
    sync_directory(target)
