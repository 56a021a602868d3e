"""RESTORE TABLE … TO a point, if retention allows to read it.

In: a RESTORE, in Delta's syntax or with AT | BEFORE (…). Out: Delta's own RESTORE of a version. A point that
cannot be read raises the same error as a query. Delta (4.4) restores the properties of the version with its
rows; the present retention properties are set again afterwards.
"""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from audit.spark.delta.values import Table
from audit.time_travel.errors import BadClauseError, NothingToRestoreError, UnknownObjectError
from audit.time_travel.retention.periods import DELTAS_FILES, DELTAS_LOG, PREFIX
from audit.time_travel.versions.version_lookup import VersionLimits, evaluate, require_clause, version_for
from lineage.names import quote_name, sql_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import SparkSession

    from audit.time_travel.versions.reading import VersionReader
    from lineage.sql.commands.time_travel.at_before import VersionClause
    from lineage.sql.commands.time_travel.restore import Restore

_WITHIN_FILES = "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration"


def clause_of(restore: Restore) -> VersionClause | None:
    """The table and the point of a RESTORE; None for an incomplete one, whose error Spark raises.

    Raises:
        BadClauseError: the point has a syntax error.
    """
    if restore.rest:
        raise BadClauseError(
            f"RESTORE TABLE {quote_name(restore.table)} TO cannot go on with {restore.rest!r}",
            "write TO VERSION AS OF n, TO TIMESTAMP AS OF '…', or TO AT | BEFORE (… => …)",
        )
    return None if restore.point is None or not restore.table else require_clause(restore.point)


@dataclass(frozen=True, slots=True)
class RestoredVersion:
    """A version that a RESTORE asks for.

    Attributes:
        table: of it.
        version: its number.
        limits: how far back versions of the table can be read.
        is_older: it is not the present one.
    """

    table: Table
    version: int
    limits: VersionLimits
    is_older: bool


@dataclass(frozen=True, slots=True)
class Restorer:
    """Restores tables.

    Attributes:
        past: resolves points to versions.
        spark: whose commits carry the statement's id.
    """

    past: VersionReader
    spark: SparkSession

    def table(self, clause: VersionClause, run: Callable[[str], Any]) -> Any:
        """Restore the version at a point.

        Args:
            clause: the table and the point.
            run: runs a text in Spark.

        Raises:
            UnknownObjectError: there is no such table in the session catalog.
            NothingToRestoreError: it is the current version.
            TimeTravelError: as `version_for`, if there is no version at the point.
        """
        found = self.version(clause)
        table, version, limits = found.table, found.version, found.limits
        catalog, location = self.past.catalog, table.location or ""
        # It would change no row: whoever asks for it has most likely named the wrong point.
        if not found.is_older:
            raise NothingToRestoreError(
                f"{quote_name(table.name)} is at version {version}, which {clause} asks for",
                "there is nothing to restore",
            )
        # Delta's RESTORE (4.4) brings back the properties of the version, those of retention among them.
        kept, then = (_kept(catalog.properties(location, "", at)) for at in (None, version))
        with _beyond_files(self.spark) if limits.horizon is not None else nullcontext():
            done = run(f"RESTORE TABLE {sql_name(table.name)} TO VERSION AS OF {version}")
        self._keep(table, kept, then)
        return done

    def version(self, clause: VersionClause) -> RestoredVersion:
        """The version at a point; raises as `table`."""
        catalog = self.past.catalog
        table = catalog.find(clause.table)
        if not isinstance(table, Table):
            what = "no table" if table is None else "a view, not a table,"
            raise UnknownObjectError(
                f"there is {what} {quote_name(clause.table)} for RESTORE",
                "check its name; UNDROP TABLE restores a dropped table",
            )
        asked = evaluate(clause, catalog, self.past.now, self.past.clock)
        limits = self.past.limits(table)
        version = version_for(asked, table, catalog, limits, self.past.records)
        state = catalog.state(table.location or "")
        return RestoredVersion(table, version, limits, is_older=state is None or version != state.latest)

    def _keep(self, table: Table, wanted: Mapping[str, str], found: Mapping[str, str]) -> None:
        """Set the retention properties again: clones and users rely on them."""
        # A property of the old version that the table no longer had goes, too.
        values = {key: wanted.get(key) for key in {**found, **wanted} if found.get(key) != wanted.get(key)}
        if values:
            self.past.catalog.set_properties(table.location or "", values)


@contextmanager
def _beyond_files(spark: SparkSession) -> Iterator[None]:
    """Whether Delta (4.4) refuses the version: it was committed before deletedFileRetentionDuration."""
    before = spark.conf.get(_WITHIN_FILES, "true")
    # Delta (4.4) measures from the version's commit, and retention from its replacement, which is later.
    spark.conf.set(_WITHIN_FILES, "false")
    try:
        yield
    finally:
        spark.conf.set(_WITHIN_FILES, str(before))


def _kept(properties: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in properties.items()
        if name.startswith(PREFIX) or name in (DELTAS_FILES, DELTAS_LOG)
    }
