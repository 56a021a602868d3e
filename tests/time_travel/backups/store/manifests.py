"""Reads the manifest of a backup in a store, whatever kind it is."""

from __future__ import annotations

from audit.time_travel.backups.files.manifest import NAME, parse_manifest

BACKUP = "set/backup"


def entries_in(store, folder=BACKUP):
    """The files of a backup."""
    return parse_manifest(store.read(folder, NAME).decode("ascii").splitlines(), folder).files


def verified(store, digest):
    """What is not as it was in a backup whose manifest has this digest."""
    found = store.verify(BACKUP)
    assert found.made.digest == digest
    return found.damages
