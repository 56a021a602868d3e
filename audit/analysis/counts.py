"""Counts of the records of an application by the way they were analysed.

In: rows as the spool has taken them. Out: the numbers behind `audit.coverage`: the same as a count over the
tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Counts:
    """Successful statements since the driver began; `disagreed` and the last two count analyses."""

    text: int = 0
    plan: int = 0
    listener: int = 0
    opaque: int = 0
    partial: int = 0
    disagreed: int = 0
    cross_checked: int = 0
    differed: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the record of a statement, as `build_row` makes it; one that did not succeed has no access.

        >>> counts = Counts()
        >>> counts.add({"access": [{"analysis": "full", "captured_by": "plan"}]})
        >>> counts.add({"access": []})
        >>> counts.plan, counts.text
        (1, 0)
        """
        if row["access"]:
            access = row["access"][0]  # a SWAP is one statement with two
            how = access["captured_by"] if access["analysis"] == "full" else access["analysis"]
            setattr(self, how, getattr(self, how) + 1)
