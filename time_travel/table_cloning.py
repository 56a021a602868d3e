"""CREATE TABLE … CLONE, zero-copy or DEEP: a table of the same content, at a point in time.

In: CREATE [OR REPLACE] TABLE … [SHALLOW | DEEP] CLONE … as Spark would get it, its clause a version. Out:
Delta's metrics of a clone. A zero-copy clone shares the files of its source, which keeps them from then on:
no VACUUM takes what it reads; a drop of the source keeps them anyway. For a deep one the files are copied by
a job of Spark, then committed at once: readers see the old table or the new one, and a run that was killed
is simply run again. Only what the clone lacks is copied; what the source has no longer is removed.

Delta 4.4 knows SHALLOW CLONE only, and writes a checkpoint with each; the statement and its metrics are
Databricks' (CREATE TABLE CLONE).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lineage.cursor import Cursor
from lineage.names import quote_name, sql_name, sql_text
from lineage.tokens import tokenize
from time_travel.errors import BadClauseError, NoHistoryError, ObjectExistsError, UnknownObjectError
from time_travel.lake import Table, View, is_path
from time_travel.retention import DELTAS_FILES, DELTAS_LOG, PINNED, is_pinned

if TYPE_CHECKING:
    from time_travel.lake import Lake

METRIC_COLUMNS = (
    "source_table_size BIGINT, source_num_of_files BIGINT, num_removed_files BIGINT, num_copied_files BIGINT,"
    " removed_files_size BIGINT, copied_files_size BIGINT"
)
"""What a clone answers, in files and bytes, as Delta's SHALLOW CLONE does."""
_METRICS = (
    "sourceTableSize", "sourceNumOfFiles", "numRemovedFiles", "numCopiedFiles", "removedFilesSize",
    "copiedFilesSize",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TableClone:
    """A CREATE TABLE … CLONE.

    Attributes:
        name: of the clone, as written.
        source: of the table that is cloned.
        deep: with a copy of each file.
        version: of that table, None for the newest.
        create: a clone that is not there is made.
        replace: one that is there is brought up to date.
        if_not_exists: nothing happens where it is there.
        location: where it is to lie, None where that is left open.
        properties: of the clone, beside the source's.
    """

    name: tuple[str, ...]
    source: tuple[str, ...]
    deep: bool = False
    version: int | None = None
    create: bool = True
    replace: bool = False
    if_not_exists: bool = False
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


def read_table_clone(text: str) -> TableClone | None:
    """What a text clones; None where it is no CREATE TABLE … CLONE.

    >>> read_table_clone("CREATE OR REPLACE TABLE c DEEP CLONE s.t VERSION AS OF 3 LOCATION '/x'")
    ... # doctest: +NORMALIZE_WHITESPACE
    TableClone(name=('c',), source=('s', 't'), deep=True, version=3, create=True, replace=True,
               if_not_exists=False, location='/x', properties={})

    Raises:
        BadClauseError: it goes on as no clone does.
    """
    at = Cursor(tokenize(text) or [], text)
    create = at.take("CREATE")
    replace = at.take("OR", "REPLACE") if create else at.take("REPLACE")
    if not (create or replace) or not at.take("TABLE"):
        return None
    if_not_exists = at.take("IF", "NOT", "EXISTS")
    name = at.name()
    deep = at.take("DEEP", "CLONE")
    if not (deep or at.take("SHALLOW", "CLONE") or at.take("CLONE")):
        return None
    source = at.name()
    version = _version(at)
    location, properties = None, {}
    while not at.done:
        if at.take("LOCATION"):
            location = at.string()
        elif at.take("TBLPROPERTIES", "("):
            properties = _properties(at)
        else:
            break
    if not name or not source or not at.done or (replace and if_not_exists):
        raise BadClauseError(
            f"the CLONE of {quote_name(source)} cannot go on with {at.span()!r}",
            "write CREATE [OR REPLACE] TABLE [IF NOT EXISTS] … [DEEP] CLONE … [AT | BEFORE (…)]"
            " [TBLPROPERTIES (…)] [LOCATION '…']",
        )
    return TableClone(name, source, deep, version, create, replace, if_not_exists, location, properties)


def _version(at: Cursor) -> int | None:
    at.take_one("FOR")
    if not at.take_one("VERSION", "SYSTEM_VERSION") or not at.take("AS", "OF"):
        return None
    digits = at.span("LOCATION", "TBLPROPERTIES").strip("'\"")
    return int(digits) if digits.isdigit() else None


def _properties(at: Cursor) -> dict[str, str]:
    """`'a' = 'b', c.d = true)`: the pairs, behind the bracket."""
    found: dict[str, str] = {}
    while not at.done and not at.take(")"):
        key = at.string() or ".".join(at.name())
        at.take("=")
        value = at.string()
        found[key] = at.span(",", ")") if value is None else value
        if not at.take(",") and at.word() != ")":
            break
    return found


@dataclass(frozen=True, slots=True)
class TableCloner:
    """Clones one table.

    Attributes:
        lake: the session of the statement, whose commits carry its id.
        place: gives a new clone its location, by the clone and its source.
        properties: beside those that the text gives, by the clone, its source and what the text gives.
        register: runs SQL that puts the clone into the catalog.
    """

    lake: Lake
    place: Callable[[TableClone, Table], str]
    properties: Callable[[TableClone, Table], Mapping[str, str]]
    register: Callable[[str], object]

    def run(self, clone: TableClone) -> tuple[int, ...] | None:
        """Make a clone, or bring it up to date.

        Returns:
            The metrics, as `METRIC_COLUMNS` names them; None where IF NOT EXISTS leaves it alone.

        Raises:
            UnknownObjectError: there is no such source, or no such clone to REPLACE.
            NoHistoryError: the source is no Delta table.
            ObjectExistsError: the clone's name, or its location, is taken.
        """
        source = self._source(clone)
        there = self._there(clone)
        if there is not None and clone.if_not_exists:
            return None
        location = self._location(clone, source, there)
        overrides = {**self.properties(clone, source), **clone.properties}
        metrics = self.lake.clone(source, clone.version, location, overrides, deep=clone.deep)
        name = sql_name(clone.name)
        if there is None and not is_path(clone.name):
            self.register(f"CREATE TABLE {name} USING delta LOCATION {sql_text(location)}")
        elif not is_path(clone.name):
            self.register(f"REFRESH TABLE {name}")
        if not clone.deep:
            pin(self.lake, source)
        return tuple(metrics[metric] for metric in _METRICS)

    def _source(self, clone: TableClone) -> Table:
        found = self.lake.find(clone.source)
        if found is None:
            raise UnknownObjectError(
                f"there is no table {quote_name(clone.source)} to clone", "check its name"
            )
        if isinstance(found, View) or found.provider != "delta" or found.location is None:
            what = "a view" if isinstance(found, View) else f"a table of {found.provider}"
            raise NoHistoryError(
                f"{quote_name(found.name)} is {what}: only a Delta table can be cloned",
                "CREATE TABLE … USING delta AS SELECT copies its rows",
            )
        return found

    def _there(self, clone: TableClone) -> Table | None:
        """The clone as an earlier run has left it.

        Raises as `run`.
        """
        found = self.lake.find(clone.name)
        if is_path(clone.name) and self.lake.state(clone.name[1]) is None:
            found = None
        name = quote_name(clone.name)
        if found is None:
            if not clone.create:
                raise UnknownObjectError(
                    f"there is no table {name} to replace", "write CREATE OR REPLACE TABLE"
                )
            return None
        if isinstance(found, View) or found.provider != "delta":
            raise ObjectExistsError(f"{name} exists and is no Delta table", "choose another name")
        if not (clone.replace or clone.if_not_exists):
            raise ObjectExistsError(f"{name} exists", "CREATE OR REPLACE TABLE brings it up to date")
        if clone.location is not None and clone.location.rstrip("/") != (found.location or "").rstrip("/"):
            raise ObjectExistsError(
                f"{name} exists at {found.location}, not at {clone.location}",
                "leave LOCATION out, or choose another name",
            )
        return found

    def _location(self, clone: TableClone, source: Table, there: Table | None) -> str:
        if there is not None:
            return there.location or ""
        if is_path(clone.name):
            return clone.name[1]
        if clone.location is None:
            return self.place(clone, source)
        if not clone.replace and self.lake.state(clone.location) is not None:
            raise ObjectExistsError(
                f"a Delta table lies at {clone.location}, where {quote_name(clone.name)} is to be",
                "CREATE OR REPLACE TABLE brings it up to date",
            )
        return clone.location


def share(
    lake: Lake,
    table: Table,
    version: int | None,
    name: Sequence[str],
    location: str,
    properties: Mapping[str, str],
) -> None:
    """Make a zero-copy clone that is not there, and have its source keep what it reads.

    Args:
        lake: the session that makes it.
        table: the source.
        version: of the source, None for the newest.
        name: of the clone.
        location: where it is to lie.
        properties: of the clone, beside the source's.
    """
    lake.clone(table, version, location, properties, deep=False)
    lake.spark.sql(f"CREATE TABLE {sql_name(name)} USING delta LOCATION {sql_text(location)}")
    pin(lake, table)


def pin(lake: Lake, table: Table) -> None:
    """Have a table keep every file from now on: a clone reads them."""
    location = table.location or ""
    lake.state(location)
    if is_pinned(lake.properties(location, "delta.")):
        return
    # Delta asks that the log be kept no shorter than the files.
    lake.set_properties(location, dict.fromkeys((DELTAS_FILES, DELTAS_LOG), PINNED))
