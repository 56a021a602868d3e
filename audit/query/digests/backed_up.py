"""The logs of digests that backups hold.

In: a configuration. Out: the newest checkpoint in each backup. The stores are asked, and not the root's own
events of backups: whoever puts a root back puts those back, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from audit.core.file_paths import local_path
from audit.evidence.errors import EvidenceError
from audit.query.digests.check_log import Anchor
from audit.store.tables import DIGESTS
from audit.time_travel.backups.backup_files import BackupFiles
from audit.time_travel.backups.content.backup_content import NAME as CONTENT
from audit.time_travel.backups.content.backup_content import BackupTable, parse_content
from audit.time_travel.backups.model.state import BackupState
from audit.time_travel.backups.store.choose import store_at
from audit.time_travel.backups.stored_backups import read_state
from lineage.names import SESSION_CATALOG

if TYPE_CHECKING:
    from audit.core.config import Config
    from audit.time_travel.backups.store.backup_store import BackupStore


def anchors_of_backups(config: Config, settings: Mapping[str, str] | None = None) -> list[Anchor]:
    """The newest checkpoint in each backup of the log of a root.

    Args:
        config: of the root.
        settings: Hadoop's, for an object store; what they leave open, the environment says.

    Raises:
        BackupDamagedError: a backup is not as it was made.
        BackupStoreError: a store cannot be reached.
        EvidenceError: no backup holds the log.
    """
    state = BackupState() if local_path(config.root) is None else read_state(config)
    files = BackupFiles(config.backup_location, partial(store_at, config, settings=settings))
    found = []
    for store in files.stores(state):
        for set_id in store.sets():
            for folder in store.published(set_id):
                found += _anchors(store, folder, (SESSION_CATALOG, config.schema, DIGESTS.name))
    if not found:
        name = f"{config.schema}.{DIGESTS.name}"
        raise EvidenceError(
            f"no backup holds {name}",
            f"make one with CREATE BACKUP SET … FOR TABLE {name}, or leave out --against-backups",
        )
    return found


def _anchors(store: BackupStore, folder: str, wanted: tuple[str, ...]) -> list[Anchor]:
    where = store.location(folder)
    content = parse_content(store.read(folder, CONTENT), f"{where}/{CONTENT}")
    notes = [_newest(store, folder, table) for table in content.tables if table.name == wanted]
    return [Anchor(f"the backup {where}", note) for note in notes if note]


def _newest(store: BackupStore, folder: str, table: BackupTable) -> str | None:
    """The newest checkpoint of a log; None of an empty one."""
    log = f"{table.folder}/_delta_log/"
    with store.fetched(folder, lambda path: path.startswith(log)) as fetched:
        files = _last_files(fetched.folder / table.folder)
    # Of a year the log has gigabytes: the file with its end alone is fetched from an object store.
    paths = {f"{table.folder}/{file}" for file in files}
    with store.fetched(folder, lambda path: path in paths) as fetched:
        return _last_checkpoint([str(fetched.folder / path) for path in sorted(paths)])


def _last_files(table: Path) -> list[str]:
    """The files of a log that may hold its end."""
    from deltalake import DeltaTable

    actions = DeltaTable(table.absolute().as_uri()).get_add_actions(flatten=True)
    if not actions.num_rows:
        return []
    paths = actions["path"].to_pylist()
    last = actions["max.sequence"].to_pylist() if "max.sequence" in actions.schema.names else [None]
    if None in last:
        return [str(path) for path in paths]
    return [str(path) for path, sequence in zip(paths, last, strict=True) if sequence == max(last)]


def _last_checkpoint(files: list[str]) -> str | None:
    import duckdb

    if not files:
        return None
    with duckdb.connect() as connection:
        asked = "SELECT checkpoint FROM read_parquet($1) ORDER BY sequence DESC LIMIT 1"
        found = connection.execute(asked, [files]).fetchone()
    return None if found is None else str(found[0])
