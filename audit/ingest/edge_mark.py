"""Which segments hold records with edges: a search for the bytes that these begin with; nothing is parsed."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MARK = b',"edges":[{'
"""How the edges begin in a record's line. No JSON string can hold it: its quotes would be escaped."""


def has_edges(file: Path) -> bool:
    """Whether a segment holds a record with edges."""
    if file.stat().st_size == 0:
        return False
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
        return text.find(_MARK) >= 0
