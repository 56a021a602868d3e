"""Which versions of a table hold what a statement did to it.

In: the commits of a table, and which of them are to be taken back. Out: for each whether the change is in
there. Nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

# They rewrite files, or delete those that no version needs: no row changes.
_UPKEEP = ("OPTIMIZE", "VACUUM", "REORG", "COMPUTE STATS")


@dataclass(frozen=True, slots=True)
class Commit:
    """An entry of Delta's log.

    Attributes:
        version: that it made.
        time: UTC microseconds.
        operation: WRITE, MERGE, RESTORE …, as Delta calls it.
        query_id: of the statement that made it, None where it came from elsewhere.
        restored: the version that a RESTORE brought back.
    """

    version: int
    time: int
    operation: str
    query_id: str | None = None
    restored: int | None = None

    @property
    def is_maintenance(self) -> bool:
        """Whether it changed no row."""
        return self.operation.startswith(_UPKEEP)


def versions_with_change(
    commits: Sequence[Commit], bad: Collection[int], clean: Collection[int]
) -> dict[int, bool]:
    """Whether each version contains a change that is to be taken back.

    It comes with a bad commit and stays until one overwrites the table, or a RESTORE brings back a version
    without it.

    >>> log = [Commit(3, 0, "WRITE"), Commit(4, 0, "WRITE"), Commit(5, 0, "RESTORE", restored=2)]
    >>> versions_with_change(log, bad={3}, clean=())
    {3: True, 4: True, 5: False}

    Args:
        commits: from the first bad one on, in order.
        bad: versions whose commits added the change.
        clean: versions that overwrote the table from sources without the change.
    """
    found: dict[int, bool] = {}
    now = False
    for commit in commits:
        if commit.version in bad:
            now = True
        elif commit.version in clean:
            now = False
        elif commit.restored is not None:
            # A version before the first bad one does not have the change.
            now = found.get(commit.restored, False)
        found[commit.version] = now
    return found
