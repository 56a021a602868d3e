"""What lies beside the spools of a root: a key, the configuration of the last attach, whose the folder is.

In: the folder that holds `spool/`. Out: 32 random bytes, the same for all drivers that use it: a table
shows hashes over redacted texts, and who has no key cannot try out what a text has lost. What has changed
since the last attach. And a refusal for another root.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import orjson

from audit.core.errors import ConfigInvalid
from audit.core.json_text import to_json
from audit.spool.failure import spool_errors
from audit.spool.layout import write_file
from audit.spool.liveness import release_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from audit.core.config import Config

_KEY = "hash.key"
_OWNER = "spool.root"
_CONFIGURATION = "configuration.json"
_BYTES = 32


def hash_key(home: Path) -> bytes:
    """The key, made at the first call, for its owner alone.

    Raises:
        SpoolUnavailableError: the file cannot be read or made.
    """
    return _once(home, _KEY, secrets.token_bytes(_BYTES))


def secret(home: Path, name: str, make: Callable[[], bytes]) -> bytes:
    """What a file of the home holds; made at the first call, for its owner alone.

    Raises:
        SpoolUnavailableError: the file cannot be read or made.
    """
    path = home / name
    with spool_errors(path):
        return path.read_bytes() if path.exists() else _once(home, name, make())


def claim_home(config: Config) -> None:
    """Take the folder of the spools for a root, where it is not beside the root anyway.

    Raises:
        ConfigInvalid: it is another root's: its records would come into the wrong tables.
        SpoolUnavailableError: the folder cannot be read or written.
    """
    home, root = config.spool_home, config.root
    if config.local_root == home:
        return  # a root that is copied or moved takes its spool along
    owner = _owner(home) or _once(home, _OWNER, root.encode()).decode()
    if owner != root:
        raise ConfigInvalid(
            f"spool_dir is {config.spool_dir}, which holds what {owner} has recorded, not {root}",
            "give each root a folder of its own, or leave spool_dir out",
        )


def is_home_of(config: Config) -> bool:
    """Whether what lies in the folder of the spools is of this root.

    Raises:
        SpoolUnavailableError: the folder cannot be read.
    """
    return config.local_root == config.spool_home or _owner(config.spool_home) == config.root


def _owner(home: Path) -> str | None:
    """The root whose folder it is; None: nobody's yet."""
    with spool_errors(home):
        if (home / "access_history" / "_delta_log").is_dir():
            return str(home)
        path = home / _OWNER
        return path.read_text(encoding="utf-8") if path.exists() else None


def changed_configuration(home: Path, values: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What another attach had configured otherwise: before and now, by field. It is kept for the next one.

    Raises:
        SpoolUnavailableError: the file cannot be read or written.
    """
    path = home / _CONFIGURATION
    with spool_errors(home), _alone(home / f"{_CONFIGURATION}.lock"):
        before = orjson.loads(path.read_bytes()) if path.exists() else dict(values)
        changed = {name: (before.get(name), now) for name, now in values.items() if before.get(name) != now}
        if changed or not path.exists():
            write_file(path, to_json(dict(values), sort_keys=True))
    return changed


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """A block that drivers enter one after the other, those of other users, too."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    # flock(2) needs no right to write, and O_CLOEXEC keeps the lock from programs that the driver starts.
    descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        release_lock(descriptor)


def _once(home: Path, name: str, content: bytes) -> bytes:
    """What a file holds: this, if it was not there."""
    path = home / name
    with spool_errors(path):
        if not path.exists():
            home.mkdir(parents=True, exist_ok=True)
            # Whole before it has its name, which the first of several drivers gives.
            own = path.with_name(f"{name}.{secrets.token_hex(8)}")
            file = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                os.write(file, content)
                os.fsync(file)
            finally:
                os.close(file)
            with suppress(FileExistsError):
                os.link(own, path)
            own.unlink()
        return path.read_bytes()
