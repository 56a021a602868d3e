"""The events of the logging that commands have left in the spools of a root."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from audit.spool.entry import PREFIX_BYTES


def spooled_events(root: str | Path, kind: str) -> list[dict[str, Any]]:
    """Their rows of query_history, oldest first, with the text as what it says."""
    rows = [
        json.loads(line[PREFIX_BYTES:])["query"]
        for file in sorted(Path(root, "spool").glob("*/sealed/*"))
        for line in file.read_bytes().splitlines()
    ]
    return [{**row, "query_text": json.loads(row["query_text"])} for row in rows if row["query_type"] == kind]
