"""Chooses the store of a root.

In: a path or URI, settings as Spark has them. Out: a `BackupStore`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from audit.core.config import Config, below_root
from audit.core.file_paths import local_path
from audit.time_travel.backups.store.backup_store import BackupStore
from audit.time_travel.backups.store.local_store import LocalStore
from audit.time_travel.backups.store.s3_address import S3_SCHEMES, s3_address
from audit.time_travel.backups.store.s3_client import S3Client
from audit.time_travel.backups.store.s3_settings import s3_settings
from audit.time_travel.backups.store.s3_store import S3Store
from audit.time_travel.errors import BackupStoreUnknownError


def store_for(root: str, staging: Path, settings: Mapping[str, str] | None = None) -> BackupStore:
    """The store of a root; nothing is read there.

    >>> store_for("file:///data/audit/backups", Path("/tmp/staging")).location("set/backup")
    '/data/audit/backups/set/backup'

    Args:
        root: where all backups lie.
        staging: a folder of this machine, for what is on its way to an object store.
        settings: Hadoop's, as `fs.s3a.endpoint`; where they say nothing, the environment and the
            configuration files of AWS count.

    Raises:
        BackupStoreUnknownError: no store knows its scheme.
        BackupExtraMissingError: the library of that store is not installed.
    """
    path = local_path(root)
    if path is not None:
        return LocalStore(path)
    scheme = root.partition(":")[0]
    if scheme not in S3_SCHEMES:
        raise BackupStoreUnknownError(
            f"backups cannot be kept at {root}: no store knows {scheme}://",
            f"take a root on a local file system, or on {' or '.join(f'{one}://' for one in S3_SCHEMES)}",
        )
    address = s3_address(root)
    return S3Store(S3Client.connected(s3_settings(settings or {}, address.bucket)), address, staging)


def store_at(config: Config, location: str, settings: Mapping[str, str] | None = None) -> BackupStore:
    """The store of a location that a backup has noted, or of new backups.

    Args:
        config: of the root.
        location: "" for below the root.
        settings: Hadoop's.

    Raises as `store_for`.
    """
    staging = config.spool_home / "backups-on-their-way"
    return store_for(location or below_root(config.root), staging, settings)
