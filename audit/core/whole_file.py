"""A file of an answer, whole or not at all.

In: a path. Out: what takes the content, which is written when all of it is there. A command that fails, or is
killed at its work, leaves what was there before.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from audit.core.errors import AuditError


@contextmanager
def whole_file(path: Path, error: type[AuditError]) -> Iterator[Callable[[bytes], object]]:
    """A file that has its content when the block has ended well; gives what takes the content.

    Whoever may not write it learns so before the block. A link stays one: what it leads to is written.

    Args:
        path: of the file.
        error: what is raised where it cannot be written.

    Raises:
        AuditError: `error`: the path cannot be written.
    """
    parts: list[bytes] = []
    with _told(path, error):
        target = Path(os.path.realpath(path))
        mode = _mode(path, target)
    yield parts.append
    with _told(path, error):
        if mode is None or stat.S_ISREG(mode):
            _replace(target, b"".join(parts), mode)
        else:
            # A device or a pipe: /dev/stdout. A file of that name in its place would be another thing.
            target.write_bytes(b"".join(parts))


@contextmanager
def growing_file(path: Path, error: type[AuditError]) -> Iterator[Callable[[bytes], object]]:
    """As `whole_file`, for what does not fit into memory: it grows under another name beside it.

    Args:
        path: of the file.
        error: what is raised where it cannot be written.

    Raises:
        AuditError: `error`: the path cannot be written.
    """
    with _told(path, error):
        target = Path(os.path.realpath(path))
        mode = _mode(path, target)
    if mode is not None and not stat.S_ISREG(mode):
        with target.open("wb") as device:
            yield _writing(path, error, device.write)
        return
    own = _own(target)
    try:
        with own.open("xb") as file:
            yield _writing(path, error, file.write)
        with _told(path, error):
            if mode is not None:
                own.chmod(stat.S_IMODE(mode))  # what only its owner may read stays so
            own.replace(target)
    finally:
        own.unlink(missing_ok=True)


def _writing(
    path: Path, error: type[AuditError], write: Callable[[bytes], object]
) -> Callable[[bytes], object]:
    def written(content: bytes) -> object:
        with _told(path, error):
            return write(content)

    return written


@contextmanager
def _told(path: Path, error: type[AuditError]) -> Iterator[None]:
    try:
        yield
    except OSError as refused:
        raise error(
            f"{path} cannot be written ({refused.strerror or refused})", "name a file that you may write"
        ) from refused


def _mode(path: Path, target: Path) -> int | None:
    """The mode of what is there, None where nothing is; an OSError where it cannot be written."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if target.exists():
        if not os.access(target, os.W_OK):
            raise PermissionError("it is there, and may not be written")
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):
            return mode
    else:
        mode = None
    # A name that is too long shows by its own length, a folder without rights by any file.
    own = _own(target)
    own.open("xb").close()
    own.unlink()
    return mode


def _replace(target: Path, content: bytes, mode: int | None) -> None:
    own = _own(target)
    try:
        with own.open("xb") as file:
            if mode is not None:
                own.chmod(stat.S_IMODE(mode))  # what only its owner may read stays so
            file.write(content)
        own.replace(target)
    finally:
        own.unlink(missing_ok=True)


def _own(target: Path) -> Path:
    return target.with_name(f".audit-{secrets.token_hex(8)}")
