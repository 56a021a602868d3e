"""The data files of each version of a Delta table, by its log.

In: the folder of a table. Out: what a version consists of; two versions of the same files have the same rows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyarrow import parquet

File = tuple[str, str]
"""The path of a data file, and the name of the deletion vector over it, empty where there is none."""


class TableLog:
    """The versions that have been in the log; it forgets none when the log is cleaned.

    Args:
        folder: of the table.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._versions: dict[int, frozenset[File]] = {-1: frozenset()}

    def files(self, version: int) -> frozenset[File]:
        """The files of a version."""
        for each in range(max(self._versions) + 1, version + 1):
            text = (self._folder / "_delta_log" / f"{each:020}.json").read_text("utf-8")
            files = set(self._versions[each - 1])
            actions = [json.loads(line) for line in text.splitlines()]
            files -= {self._file(one["remove"]) for one in actions if "remove" in one}
            files |= {self._file(one["add"]) for one in actions if "add" in one}
            self._versions[each] = frozenset(files)
        return self._versions[version]

    def missing(self, version: int) -> list[str]:
        """The data files of a version that are not there any more."""
        return sorted(path for path, _ in self.files(version) if not Path(path).exists())

    def rows(self, version: int) -> tuple[int, ...] | None:
        """Column i of the files of a version, sorted; None where a deletion vector hides a part."""
        files = self.files(version)
        if any(vector for _, vector in files):
            return None
        found = [parquet.read_table(path, columns=["i"], partitioning=None) for path, _ in files]
        return tuple(sorted(value for table in found for value in table["i"].to_pylist()))

    def _file(self, action: dict[str, Any]) -> File:
        path = unquote(action["path"]).removeprefix("file://").removeprefix("file:")
        vector = action.get("deletionVector")
        named = f"{vector['pathOrInlineDv']}@{vector.get('offset', '')}" if vector else ""
        return str(self._folder / path), named
