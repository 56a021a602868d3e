"""Counts of the records of an application, and of Spark's executions by what became of them.

In: rows as the spool has taken them, and executions. Out: the numbers behind `audit.coverage`: those of
records are the same as a count over the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(slots=True)
class Counts:
    """Statements and executions since the driver began, see `Coverage`."""

    text: int = 0
    plan: int = 0
    listener: int = 0
    opaque: int = 0
    partial: int = 0
    unsuccessful: int = 0
    disagreed: int = 0
    cross_checked: int = 0
    differed: int = 0
    of_statements: int = 0
    of_their_own: int = 0
    of_delta: int = 0
    handed_over: int = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Count the record of a statement, as `build_row` makes it; one that did not succeed has no access.

        >>> counts = Counts()
        >>> counts.add({"access": [{"analysis": "full", "captured_by": "plan"}]})
        >>> counts.add({"access": []})
        >>> counts.plan, counts.text, counts.unsuccessful
        (1, 0, 1)
        """
        if row["access"]:
            access = row["access"][0]  # a SWAP is one statement with two
            how = access["captured_by"] if access["analysis"] == "full" else access["analysis"]
            setattr(self, how, getattr(self, how) + 1)
        else:
            self.unsuccessful += 1
