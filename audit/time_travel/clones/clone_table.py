"""CREATE TABLE … CLONE, zero-copy or DEEP: a table with the rows of another, at a point in time.

In: CREATE [OR REPLACE] TABLE … [SHALLOW | DEEP] CLONE … as Spark would get it, its clause a version. Out:
Delta's metrics of a clone. A zero-copy clone shares the files of its source. The source is pinned: VACUUM
deletes none of its files from then on, and DROP keeps them anyway. For a deep clone a Spark job copies the
files, then one commit adds them: readers see the old table or the new one, and a killed run can be run again.
Only missing files are copied; files that the source no longer has are removed.

Delta 4.4 has SHALLOW CLONE alone, and writes a checkpoint with each; the statement and its metrics are
Databricks' (CREATE TABLE CLONE).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from audit.spark.delta.values import Table, View, is_path
from audit.time_travel.clones.create import properties_of
from audit.time_travel.errors import BadClauseError, NoHistoryError, ObjectExistsError, UnknownObjectError
from audit.time_travel.retention.retention_rule import has_retention
from audit.time_travel.retention.table_properties import is_pinned, owners, pinned_properties, saved
from audit.time_travel.versions.timestamp_eval import version_of
from audit.time_travel.versions.version_lookup import require_clause
from lineage.names import qualify, quote_name, sql_name, sql_text

if TYPE_CHECKING:
    from audit.spark.delta.delta_catalog import DeltaCatalog
    from lineage.sql.commands.time_travel.clone import CloneTable

METRIC_COLUMNS = (
    "source_table_size BIGINT, source_num_of_files BIGINT, num_removed_files BIGINT, num_copied_files BIGINT,"
    " removed_files_size BIGINT, copied_files_size BIGINT"
)
"""The result of a CLONE, in files and bytes: the columns of Delta's SHALLOW CLONE (4.4)."""
_METRICS = (
    "sourceTableSize", "sourceNumOfFiles", "numRemovedFiles", "numCopiedFiles", "removedFilesSize",
    "copiedFilesSize",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableClone:
    """A CREATE TABLE … CLONE with its version evaluated.

    Attributes:
        statement: the statement.
        version: of its source, None for the newest.
        properties: of the clone, beside the source's.
    """

    statement: CloneTable
    version: int | None
    properties: Mapping[str, str]


def clone_of(statement: CloneTable) -> TableClone:
    """The clone of a statement whose point is a version number.

    Raises:
        BadClauseError: it goes on as no clone does.
        BadMomentError: the version is not a number.
        BadParameterError: the retention is out of range.
    """
    point = None if statement.point is None else require_clause(statement.point)
    is_whole = (
        statement.name
        and statement.source
        and not statement.rest
        and not (statement.replace and statement.if_not_exists)
    )
    if not is_whole or (point is not None and point.kind != "VERSION"):
        raise BadClauseError(
            f"the CLONE of {quote_name(statement.source)} cannot go on with"
            f" {statement.rest or str(point or '')!r}",
            "write CREATE [OR REPLACE] TABLE [IF NOT EXISTS] … [DEEP] CLONE … [AT | BEFORE (…)]"
            " [TBLPROPERTIES (…)] [LOCATION '…'] [DATA_RETENTION_TIME_IN_DAYS = n]",
        )
    own = properties_of(statement)
    return TableClone(
        statement, None if point is None else version_of(point), {**own, **dict(statement.properties)}
    )


@dataclass(frozen=True, slots=True)
class TableCloner:
    """Clones one table.

    Attributes:
        catalog: the session of the statement, whose commits carry its id.
        place: gives the location of a new clone, by the clone and its source.
        properties: gives those of the clone beside the source's, by the clone, its source, its location and
            what it replaces.
        register: runs the SQL that registers the clone in the catalog.
    """

    catalog: DeltaCatalog
    place: Callable[[TableClone, Table], str]
    properties: Callable[[TableClone, Table, str, Table | None], Mapping[str, str]]
    register: Callable[[str], object]

    def run(self, clone: TableClone) -> tuple[int, ...] | None:
        """Create a clone, or update it.

        Returns:
            The metrics, in the order of `METRIC_COLUMNS`; None if IF NOT EXISTS finds the table.

        Raises:
            UnknownObjectError: there is no such source, or no such clone to REPLACE.
            NoHistoryError: the source is no Delta table.
            ObjectExistsError: the clone's name or location exists.
        """
        source = self._source(clone)
        there = self._existing_clone(clone)
        if there is not None and clone.statement.if_not_exists:
            return None
        location = self._location(clone, source, there)
        overrides = self.properties(clone, source, location, there)
        metrics = self.catalog.clone(
            source,
            clone.version,
            location,
            overrides,
            name=qualify(clone.statement.name, self.catalog.current),
            files="copied" if clone.statement.deep else "shared",
        )
        name = sql_name(clone.statement.name)
        # Files first, then the name: readers never find a table without its rows.
        if there is None and not is_path(clone.statement.name):
            self.register(f"CREATE TABLE {name} USING delta LOCATION {sql_text(location)}")
        elif not is_path(clone.statement.name):
            # Spark caches the relation of a table; the new commit came past the catalog.
            self.register(f"REFRESH TABLE {name}")
        if not clone.statement.deep:
            pin(self.catalog, source)
        return tuple(metrics[metric] for metric in _METRICS)

    def _source(self, clone: TableClone) -> Table:
        found = self.catalog.find(clone.statement.source)
        if found is None:
            raise UnknownObjectError(
                f"there is no table {quote_name(clone.statement.source)} to clone", "check its name"
            )
        if isinstance(found, View) or found.provider != "delta" or found.location is None:
            what = "a view" if isinstance(found, View) else f"a table of {found.provider}"
            raise NoHistoryError(
                f"{quote_name(found.name)} is {what}: only a Delta table can be cloned",
                "CREATE TABLE … USING delta AS SELECT copies its rows",
            )
        return found

    def _existing_clone(self, clone: TableClone) -> Table | None:
        """The clone as an earlier run left it; None for a new one.

        Raises as `run`.
        """
        statement = clone.statement
        found = self.catalog.find(statement.name)
        if is_path(statement.name) and self.catalog.state(statement.name[1]) is None:
            found = None
        name = quote_name(statement.name)
        if found is None:
            if not statement.create:
                raise UnknownObjectError(
                    f"there is no table {name} to replace", "write CREATE OR REPLACE TABLE"
                )
            return None
        if isinstance(found, View) or found.provider != "delta":
            raise ObjectExistsError(f"{name} exists and is no Delta table", "choose another name")
        if not (statement.replace or statement.if_not_exists):
            raise ObjectExistsError(f"{name} exists", "CREATE OR REPLACE TABLE brings it up to date")
        if statement.location is not None and statement.location.rstrip("/") != (found.location or "").rstrip(
            "/"
        ):
            raise ObjectExistsError(
                f"{name} exists at {found.location}, not at {statement.location}",
                "leave LOCATION out, or choose another name",
            )
        return found

    def _location(self, clone: TableClone, source: Table, there: Table | None) -> str:
        if there is not None:
            return there.location or ""
        if is_path(clone.statement.name):
            return clone.statement.name[1]
        if clone.statement.location is None:
            return self.place(clone, source)
        if not clone.statement.replace and self.catalog.state(clone.statement.location) is not None:
            raise ObjectExistsError(
                f"a Delta table lies at {clone.statement.location}, where"
                f" {quote_name(clone.statement.name)} is to be",
                "CREATE OR REPLACE TABLE brings it up to date",
            )
        return clone.statement.location


def share(
    catalog: DeltaCatalog,
    table: Table,
    version: int | None,
    name: tuple[str, ...],
    location: str,
    properties: Mapping[str, str],
) -> None:
    """Create a zero-copy clone, and pin its source.

    Args:
        catalog: the session that makes it.
        table: the source.
        version: of the source, None for the newest.
        name: of the clone, in full.
        location: of the clone.
        properties: of the clone, beside the source's.
    """
    catalog.clone(table, version, location, properties, name=name, files="shared")
    catalog.spark.sql(f"CREATE TABLE {sql_name(name)} USING delta LOCATION {sql_text(location)}")
    pin(catalog, table)


def pin(catalog: DeltaCatalog, table: Table) -> None:
    """Pin a table: it keeps every file from now on, since a clone reads them."""
    location = table.location or ""
    # `state` refreshes Delta's cached snapshot, which `properties` reads.
    catalog.state(location)
    now = catalog.properties(location, "")
    if is_pinned(now):
        return
    # VACUUM without RETAIN uses delta.deletedFileRetentionDuration, so a VACUUM by anybody keeps the files.
    own = owners(now, is_kept=has_retention(location, now))
    catalog.set_properties(location, {**saved(own), **pinned_properties()})
