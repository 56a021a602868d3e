"""Tables and views at a version, which Spark reads by a mark in the text: `t VERSION AS OF '<mark>'`.

In: names and the versions that Time Travel has chosen. Out: marks for a statement's text, until they are
released; or a DataFrame. `PastRelations.java` holds what they stand for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.delta.delta_java import InSession
from lineage.names import sql_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class RelationBelow:
    """A relation below a view, as Spark has resolved it.

    Attributes:
        name: in the catalog, in full; () for one without.
        kind: Spark's name of its node.
        location: of a Delta table; "" for anything else, which has no versions.
        table_id: Delta's own.
        schema: the columns that the view reads, as JSON.
    """

    name: tuple[str, ...]
    kind: str
    location: str = ""
    table_id: str = ""
    schema: str = ""


@dataclass(frozen=True, slots=True)
class VersionBelow:
    """The version at which a view reads a relation below it.

    Attributes:
        version: as Delta counts.
        enforced: whether Delta's own check of its age is to be made.
        columns: SQL of each column that the view reads; None where the version has the same.
    """

    version: int
    enforced: bool
    columns: tuple[str, ...] | None


class PastView:
    """A view as Spark resolves it now.

    Args:
        java: a `PastView.java`.
    """

    def __init__(self, java: Any) -> None:
        self._java = java

    def relations(self) -> list[RelationBelow]:
        """What it reads, but for constants and for what it reads at a version of its own."""
        return _relations(self._java.relations())

    def fixed(self) -> list[RelationBelow]:
        """What it reads at a version of its own."""
        return _relations(self._java.fixed())

    def at(self, versions: Sequence[VersionBelow]) -> str:
        """The mark of the view, with each of `relations` at a version."""
        given = [{"version": v.version, "enforced": v.enforced, "columns": v.columns} for v in versions]
        return str(self._java.bind(json.dumps(given)))


def _relations(told: str) -> list[RelationBelow]:
    return [
        RelationBelow(
            tuple(one["name"] or ()),
            one["kind"],
            one.get("location", ""),
            one.get("table_id", ""),
            one.get("schema", ""),
        )
        for one in json.loads(told)
    ]


class PastRelations(InSession):
    """Relations of the past, in one session."""

    def past_table(self, name: Sequence[str], version: int) -> str:
        """The mark of a Delta table at a version, however old.

        Args:
            name: in full, or `("delta", path)`.
            version: that Time Travel allows.
        """
        return str(self._java.past.table(self._session, *name[-2:], version))

    def past_view(self, name: Sequence[str]) -> PastView:
        """A view or temporary view; Spark's own error where it cannot be resolved."""
        return PastView(self._java.past.view(self._session, list(name)))

    def past_frame(self, name: Sequence[str], version: int, options: Mapping[str, str]) -> DataFrame:
        """A Delta table at a version, however old, as a DataFrame.

        Args:
            name: in full, or `("delta", path)`.
            version: that Time Travel allows.
            options: of the reader.
        """
        from pyspark.sql import DataFrame

        past, given = self._java.past, dict(options)
        if len(name) == 2:  # noqa: PLR2004  by its path
            found = past.atPath(self._session, name[1], given, version)
        else:
            found = past.named(self._session, *name[-2:], given, version)
        return DataFrame(found, self.spark)

    def release(self, marks: Sequence[str]) -> None:
        """Let go of marks, whose texts have been parsed."""
        for mark in marks:
            self._java.past.release(mark)

    def is_temporary(self, name: Sequence[str]) -> bool:
        """Whether a name is that of a temporary view, made by SQL or of a DataFrame."""
        return bool(self._java.catalog.isTemporary(self._session, sql_name(name)))
