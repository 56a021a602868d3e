"""The sample queries, by name.

In: the name of a `.sql` file beside this one. Out: a `Query`.
"""

from __future__ import annotations

from pathlib import Path

from views.query_file import Query, read

FOLDER = Path(__file__).parent


def load(name: str) -> Query:
    """The query of a file, by its name without `.sql`."""
    return read(FOLDER / f"{name}.sql")


def names() -> list[str]:
    """The names of all sample queries."""
    return sorted(path.stem for path in FOLDER.glob("*.sql"))
