"""Which records of a segment have a part that most lack: a search for the bytes that begin it.

In: files of a spool, or their lines. Out: whether the bytes are there; where a batch has none, nothing is
parsed for that part. No JSON string can hold such bytes, since its quotes would be escaped.
"""

from __future__ import annotations

import mmap
from pathlib import Path


def sql_has_mark(mark: bytes) -> str:
    """SQL: whether a line (in bytes) has a mark.

    >>> sql_has_mark(b',"edges":[{')
    "contains(line, X'2c226564676573223a5b7b')"
    """
    return f"contains(line, X'{mark.hex()}')"


def has_mark(file: Path, mark: bytes) -> bool:
    """Whether a segment holds a record with a mark."""
    if file.stat().st_size == 0:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(mark) >= 0
