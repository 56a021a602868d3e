"""Tables and views of the session catalog, and versions and sizes of Delta tables, as frozen values.

In: nothing. Out: values. Times are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def is_path(parts: Sequence[str]) -> bool:
    """Whether a name is a Delta table by its path.

    >>> is_path(("delta", "/data/t")), is_path(("delta", "t"))
    (True, False)
    """
    # Delta (4.4, SupportsPathIdentifier) wants an absolute path; a name without a slash is a table's.
    return len(parts) == 2 and parts[0].lower() == "delta" and "/" in parts[1]  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the session catalog, or a Delta table by its path.

    Attributes:
        name: its parts, catalog and schema included; `("delta", path)` by path.
        location: a Hadoop path, None for a table without files.
        provider: `delta`, `parquet` ….
        managed: Spark deletes its files when it is dropped.
        facts: all that the catalog knows, by the names of `CatalogStore.java`.
    """

    name: tuple[str, ...]
    location: str | None
    provider: str
    managed: bool
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class View:
    """A view with a text, and what names in it are relative to.

    Attributes:
        name: its parts, in full; one part for a temporary view, two for a global temporary one.
        text: its query.
        current: the catalog and schema in force when it was made.
        temporary: no catalog keeps it.
        facts: all that the catalog knows, by the names of `CatalogStore.java`.
    """

    name: tuple[str, ...]
    text: str
    current: tuple[str, str]
    temporary: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DeltaTableState:
    """The versions of a Delta table that can be had.

    Attributes:
        table_id: Delta's own, which a rename keeps.
        latest: the newest version.
        earliest: the oldest one of which the log tells.
        timed: the first version whose time stands in its commit (in-commit timestamps).
    """

    table_id: str
    latest: int
    earliest: int
    timed: int


@dataclass(frozen=True, slots=True)
class TableSize:
    """Of a Delta table.

    Attributes:
        bytes: of the files of its newest version; None for a table that is none of Delta's.
        rows: None where a file has no statistics.
        created: UTC microseconds.
        clustered_by: the columns of its CLUSTER BY, between commas; "" for none.
    """

    bytes: int | None
    rows: int | None
    created: int
    clustered_by: str = ""


@dataclass(frozen=True, slots=True)
class NewCopy:
    """A table that is to be made of another one, or of a version of it.

    Attributes:
        source_id: Delta's id of the other one.
        table_id: its own.
        name: in full; of a table without a name `("delta", path)`.
        place: of its files.
        is_past: it is made of a former version.
    """

    source_id: str
    table_id: str
    name: tuple[str, ...]
    place: str
    is_past: bool
