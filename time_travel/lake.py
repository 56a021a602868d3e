"""What Spark's catalog and Delta's log say of a table: the one place where Time Travel asks the JVM.

In: names and locations. Out: `Table`, `View`, versions and their times. Times are UTC; Delta counts them in
milliseconds.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.names import quote_name
from time_travel.damage import reading
from time_travel.held import Commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SESSION_CATALOG = "spark_catalog"


def is_path(parts: Sequence[str]) -> bool:
    """Whether a name is a Delta table by its path.

    >>> is_path(("delta", "/data/t")), is_path(("delta", "t"))
    (True, False)
    """
    return len(parts) == 2 and parts[0].lower() == "delta" and "/" in parts[1]  # noqa: PLR2004


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the session catalog, or a Delta table by its path.

    Attributes:
        name: its parts, catalog and schema included; `("delta", path)` by path.
        location: a Hadoop path, None for a table without files.
        provider: `delta`, `parquet` ….
        managed: Spark deletes its files when it is dropped.
        facts: all that the catalog knows, by the names of `Catalog.java`.
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
        name: its parts, in full.
        text: its query.
        current: the catalog and schema in force when it was made.
        columns: pairs of a column of the query and the view's own name for it; () where they are the same.
        facts: all that the catalog knows, by the names of `Catalog.java`.
    """

    name: tuple[str, ...]
    text: str
    current: tuple[str, str]
    columns: tuple[tuple[str, str], ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class State:
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
class Size:
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


Cloned = Callable[[str, str, bool], None]
"""Is told Delta's ids of a table and of its clone before this is there, and whether it shows the past."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """The Java of this package, compiled for a JVM; every session of it may use it.

    `cloned` is told of each clone before it is there.
    """

    commits: Any
    catalog: Any
    logs: Any
    cloned: Cloned
    sizes: dict[tuple[str, int], Size] = field(default_factory=dict)
    shipped: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def compiled(cls, spark: SparkSession, cloned: Cloned) -> Helpers:
        """Compiles all of it (0.3 s)."""
        view = jvm.view(spark.sparkContext)
        commits, catalog, logs = (
            jvm.compiled(view, "time_travel", name) for name in ("Commits", "Catalog", "Logs")
        )
        return cls(commits, catalog, logs, cloned)


def free(session: SparkSession) -> None:
    """Let a session of the system's own read everything as it is."""
    session.conf.set(jvm.EXEMPT, jvm.SECRET)


class Lake:
    """Look-ups in one session.

    Args:
        spark: whose current schema and temporary views count.
        helpers: compiled for its JVM.
    """

    def __init__(self, spark: SparkSession, helpers: Helpers) -> None:
        self.spark = spark
        self._helpers = helpers
        self._commits = helpers.commits
        self._catalog = helpers.catalog
        self._logs = helpers.logs
        self._sizes = helpers.sizes
        self._shipped = helpers.shipped
        self._session = spark._jsparkSession

    def within(self, spark: SparkSession) -> Lake:
        """The same look-ups in another session."""
        return Lake(spark, self._helpers)

    @property
    def current(self) -> tuple[str, str]:
        """The current catalog and schema."""
        return jvm.current_schema(self.spark)

    def find(self, parts: Sequence[str]) -> Table | View | None:
        """What a name means in this session; None for nothing, or what another catalog has."""
        if is_path(parts):
            return Table(("delta", parts[1]), parts[1], "delta", managed=False)
        if len(parts) > _FULL or (len(parts) == _FULL and parts[0].lower() != SESSION_CATALOG):
            return None
        schema = parts[-2] if len(parts) > 1 else None
        found = json.loads(self._catalog.table(self._session, schema, parts[-1]))
        return None if found is None else self.meant(found)

    def registered(self, location: str) -> Table | None:
        """The table of the session catalog that lies at a location; all schemas are looked through."""
        found = json.loads(self._catalog.at(self._session, location))
        meant = None if found is None else self.meant(found)
        return meant if isinstance(meant, Table) else None

    def tables(self, schema: str) -> list[Table | View]:
        """All tables and views of a schema of the session catalog."""
        found = json.loads(self._catalog.tables(self._session, schema))
        return [meant for one in found if (meant := self.meant(one)) is not None]

    def meant(self, found: Mapping[str, Any]) -> Table | View | None:
        """The table or view of facts by the names of `Catalog.java`; None for a view without a text."""
        name = (found["name"],) if found["temporary"] else (SESSION_CATALOG, found["schema"], found["name"])
        if found["kind"] != "VIEW":
            managed, provider = found["kind"] == "MANAGED", str(found["provider"] or "hive").lower()
            return Table(name, found["location"], provider, managed=managed, facts=found)
        if found["view_text"] is None:
            return None
        catalog, *namespace = found["view_current"] or self.current
        columns = [column["name"] for column in found["columns"]]
        pairs = tuple(zip(found["view_queried"], columns, strict=False))
        return View(name, found["view_text"], (catalog, ".".join(namespace)), pairs, facts=found)

    def schema_facts(self, name: str) -> dict[str, Any] | None:
        """Name, comment, location and properties of a schema; None where there is none."""
        found: dict[str, Any] | None = json.loads(self._catalog.schema(self._session, name))
        return found

    def set_schema_property(self, name: str, key: str, value: str) -> None:
        """Set a property of a schema, wherever it lies."""
        self._catalog.setSchemaProperty(self._session, name, key, value)

    @property
    def leaves_folders(self) -> bool:
        """Whether the catalog can drop a schema and leave its folder: Hive's and Spark's own can."""
        return bool(self._catalog.leavesFolders(self._session))

    def drop_schema(self, name: str) -> None:
        """Drop a schema with all that is in it, and leave each file where it is."""
        self._catalog.dropSchema(self._session, name)

    def drop(self, table: Table) -> None:
        """Drop a table of the session catalog as Spark does; what it manages goes with its files."""
        self._catalog.drop(self._session, table.name[-2], table.name[-1])

    def schemas(self) -> list[str]:
        """The names of all schemas of the session catalog."""
        found: list[str] = json.loads(self._catalog.schemas(self._session))
        return found

    def functions(self, schema: str) -> list[dict[str, Any]]:
        """The functions of a schema, with what brings them back."""
        found: list[dict[str, Any]] = json.loads(self._catalog.functions(self._session, schema))
        return found

    def function(self, name: Sequence[str]) -> dict[str, Any] | None:
        """A function of the session's catalog by its full name, with what brings it back; None for none."""
        if self.schema_facts(name[-2]) is None:
            return None
        found = (one for one in self.functions(name[-2]) if one["name"].lower() == name[-1].lower())
        return next(found, None)

    def restore_function(self, schema: str, facts: Mapping[str, Any]) -> None:
        """Register a function as `functions` has found it."""
        self._catalog.restoreFunction(
            self._session, schema, facts["name"], facts["class_name"], "\n".join(facts["resources"])
        )

    def rename(self, location: str, new: str) -> None:
        """Move the folder of a table, in one step.

        Raises:
            OSError: the store has not done it.
        """
        if not self._catalog.rename(self._session, location, new):
            raise OSError(f"{location} could not be renamed to {new}")

    def make_external(self, table: Table, location: str | None = None) -> None:
        """From now on Spark leaves the files of a table alone when it is dropped.

        Args:
            table: of the session catalog.
            location: where its files lie by now, None for where they lay.
        """
        self._catalog.makeExternal(self._session, table.name[-2], table.name[-1], location)

    def state(self, location: str) -> State | None:
        """The versions of what lies at a location; None where it is no Delta table.

        Raises:
            UnreadableTableError: its log is damaged.
        """
        with reading(location):
            text = self._commits.state(self._session, location)
        if not text:
            return None
        table_id, latest, earliest, timed = text.split()
        return State(table_id, int(latest), int(earliest), int(timed))

    def place_of(self, places: Iterable[str], first: str) -> str:
        """Of the places where a Delta table may lie the one where it does; the first where none has one."""
        found = (place for place in (first, *places) if self.state(place) is not None)
        return next(found, first)

    def committed_at(self, location: str, state: State, version: int) -> int:
        """When a version was made, in milliseconds; -1 where its commit is gone."""
        return int(self._commits.time(self._session, location, version, version >= state.timed))

    def version_at(self, location: str, state: State, millis: int) -> int:
        """The newest version made by a time, in milliseconds; one below the earliest where there is none."""
        if state.timed <= state.earliest:
            first = state.earliest
            return int(self._commits.lastBy(self._session, location, first, state.latest, millis))
        if millis < self.committed_at(location, state, state.earliest):
            return state.earliest - 1
        return int(self._commits.delta(self._session, location, millis))

    def written_by(self, location: str, state: State, query_id: str, since: int) -> tuple[int, int] | None:
        """The first and the last version that carry a statement's id, looked for from a version on."""
        low = max(since, state.earliest)
        text = self._commits.written(self._session, location, low, state.latest, query_id)
        if not text:
            return None
        first, last = text.split()
        return int(first), int(last)

    def commits(self, location: str, first: int, last: int) -> list[Commit]:
        """The commits of a Delta table between two versions, in order; those that are gone are missing."""
        found = json.loads(self._commits.commits(self._session, location, first, last))
        return [
            Commit(
                version,
                millis * 1000,
                operation,
                query_id,
                None if restored in (None, "null") else int(restored),
            )
            for version, millis, operation, query_id, restored in found
        ]

    def id_at(self, location: str, version: int) -> str:
        """Delta's own id of a table at a version; a REPLACE gives it another."""
        return str(self._commits.id(self._session, location, version))

    def lost(self, location: str, version: int, *, enforced: bool) -> str:
        """Why a version cannot be restored, "" where it can; a Spark job, and a look for each file.

        Args:
            location: of a Delta table.
            version: as `state` has seen it last, or older.
            enforced: Delta itself (4.4) restores nothing that was committed before its files' retention.
        """
        return str(self._commits.lost(self._session, location, version, enforced))

    def properties(self, location: str, prefix: str, version: int | None = None) -> dict[str, str]:
        """Those of a Delta table that begin with a prefix: of a version, or as `state` has seen it last."""
        with reading(location):
            text = (
                self._commits.properties(self._session, location, prefix)
                if version is None
                else self._commits.propertiesAt(self._session, location, version, prefix)
            )
        pairs = (line.partition("=") for line in text.splitlines())
        return {name: value for name, _, value in pairs}

    def size(self, location: str) -> Size:
        """How large the newest version of a Delta table is, and how it lies; a Spark job for each new one."""
        state = self.state(location)
        version = (state.table_id, state.latest) if state is not None else ("", 0)
        if version not in self._sizes:
            with reading(location):
                numbers, _, columns = self._commits.size(self._session, location).partition("\n")
            size, rows, created = map(int, numbers.split())
            if len(self._sizes) >= _KEPT_SIZES:
                self._sizes.clear()
            self._sizes[version] = Size(size, rows if rows >= 0 else None, created * 1000, columns)
        return self._sizes[version]

    def described(self, location: str) -> dict[str, Any] | None:
        """What `Logs.java` says of a Delta table and of its log's files; None where none lies.

        Raises:
            UnreadableTableError: its log is damaged.
        """
        with reading(location):
            found: dict[str, Any] | None = json.loads(self._logs.described(self._session, location))
        return found

    def vacuum(self, location: str, millis: int, inventory: DataFrame) -> None:
        """Delta's VACUUM as of a moment, over some of a table's files.

        Args:
            location: of the table.
            millis: what was replaced later than this stays, and so does what was written later.
            inventory: path, length, isDir, modificationTime; what is not in it stays, too.
        """
        self._logs.vacuum(self._session, location, millis, inventory._jdf)

    def amount(self, location: str) -> tuple[int, int]:
        """Files and bytes in a folder and below it; zeros where there is none."""
        files, size = str(self._logs.amount(self._session, location)).split()
        return int(files), int(size)

    def delete(self, location: str) -> None:
        """Delete a folder with all that is in it.

        Raises:
            Py4JJavaError: the store refuses.
        """
        self._logs.delete(self._session, location)

    def clone(
        self,
        source: Table,
        version: int | None,
        target: str,
        overrides: Mapping[str, str],
        *,
        deep: bool,
    ) -> dict[str, int]:
        """Commit the files of a version at another location.

        Args:
            source: a Delta table with a location.
            version: None for the newest.
            target: of a Delta table, which is replaced, or of nothing yet.
            overrides: properties of the clone beside the source's.
            deep: it gets a copy of each file. Else it shares them.

        Returns:
            The metrics of Delta's CLONE by name, in files and bytes.
        """
        there, here = self.state(target), self.state(source.location or "")
        identity = str(uuid.uuid4()) if there is None else there.table_id
        if here is not None:
            of = (
                here.table_id
                if version is None
                else self._clones.idAt(self._session, source.location, version)
            )
            self._helpers.cloned(of, identity, version is not None)
        number, name = -1 if version is None else version, quote_name(source.name)
        given = json.dumps(dict(overrides))
        run = self._clones.run
        metrics: dict[str, int] = json.loads(
            run(self._session, source.location, number, name, target, identity, given, deep, False)  # noqa: FBT003  Java's
        )
        return metrics

    def replace(self, source: str, target: str, overrides: Mapping[str, str]) -> None:
        """Commit all of a Delta table in the place of another, at once; it keeps its id.

        Args:
            source: the location of the one.
            target: of the other.
            overrides: properties beside the one's.
        """
        state = self.state(source)
        identity, name = "" if state is None else state.table_id, quote_name(("delta", source))
        given, run = json.dumps(dict(overrides)), self._clones.run
        run(self._session, source, -1, name, target, identity, given, True, True)  # noqa: FBT003  Java's

    def set_properties(self, location: str, properties: Mapping[str, str]) -> None:
        """Set properties of a Delta table by its path, without a statement of Spark's."""
        self._clones.pin(self._session, location, json.dumps(dict(properties)))

    def forget(self, location: str) -> None:
        """Let go of what Delta remembers of a table: some megabytes each."""
        self._clones.forget(self._session, location)

    @property
    def _clones(self) -> Any:
        name = "Clones"
        with _COMPILING:
            if name not in self._shipped:
                self._shipped[name] = jvm.shipped(self.spark.sparkContext, "time_travel", name)
        return self._shipped[name]

    def schema(self, location: str, version: int | None) -> str:
        """The columns of a version as JSON; None for the newest, as `state` has seen it last."""
        return str(self._commits.schema(self._session, location, -1 if version is None else version))

    def kind(self, sql: str) -> str:
        """What Spark's parser takes a text for, by its plan's name; Spark's own error for what is none."""
        plan = self._session.sessionState().sqlParser().parsePlan(sql)
        return str(plan.getClass().getSimpleName())

    def evaluate(self, sql: str) -> object:
        """The value of a constant expression in this session."""
        rows = self.spark.sql(f"SELECT {sql}").collect()
        return rows[0][0]

    @property
    def warehouse(self) -> str:
        """The folder of all schemas."""
        return str(self.spark.conf.get("spark.sql.warehouse.dir"))

    @property
    def zone(self) -> str:
        """The session's time zone."""
        return str(self.spark.conf.get("spark.sql.session.timeZone"))


_FULL = 3
_KEPT_SIZES = 10_000
_COMPILING = threading.Lock()
