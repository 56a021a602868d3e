"""The audit tables and their views in DuckDB.

In: a root. Out: a connection in which they have the names that they have in Spark. Nothing is written.
Storage and the catalog are as an attached session has measured them last; governance is worked out from its
events. `logging_history` also has the events that wait for an ingest, where they are given.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one

from audit.core.errors import QueryFailed, TableMissingError, TableUnreadable
from audit.core.file_paths import local_path
from audit.core.json_text import to_json
from audit.evidence.bound_tables import BOUND_ELSEWHERE
from audit.policies.model.events import COLUMNS as EVENT_COLUMNS
from audit.policies.model.events import NAME as EVENTS
from audit.policies.model.events import GovernanceEvent, event_from
from audit.query.answer import WAY_OUT, Answer
from audit.query.description import COLUMNS, asked_about, meanings, spark_type
from audit.query.digests.duckdb_texts import duckdb_texts
from audit.query.functions import connected
from audit.query.governance import governance_json, structure
from audit.query.translation import quoted, sql_value, to_duckdb
from audit.store.days.finished_tables import SUM_TABLES
from audit.store.delta_files import (
    UnsupportedStore,
    column_types,
    data_files,
    open_table,
    require_files,
    size,
)
from audit.store.later_tables import LATER_TABLES
from audit.store.made_tables import current_types
from audit.store.measured.names import GOVERNANCE, MEASURED
from audit.store.tables import AUDIT_TABLES, DATA_QUALITY, HISTORY_TABLES, QUERY_HISTORY
from audit.store.views import (
    OF_LINEAGE,
    OF_RECORDS,
    VIEWS,
    definition,
    newest_finished,
    tables_below,
)
from lineage.names import sql_name
from lineage.sql.mentions import named_in
from lineage.types import element_type, struct_fields

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from deltalake import DeltaTable

    from audit.evidence.row_texts import Columns, Text

_NO_TIME = frozenset({
    "sessions", "top_readers_of_all_days", "objects_last_read", "columns_last_read", "objects_last_written",
    "users_last_active",
})  # fmt: skip
"""A row of these views stands for many days."""
TIMES = {
    **{table.name: table.time for table in (*AUDIT_TABLES, *LATER_TABLES)},
    **{name: "query_start_time" for name in OF_RECORDS if name not in _NO_TIME},
    "statements": "start_time",
    "logging_history": "event_time",
    "data_quality": DATA_QUALITY.time,
    # Rows of one day: an hour's beginning and the last time are on that day, too.
    "aggregate_query_history": "interval_start_time",
    "aggregate_access_history": "interval_start_time",
    "failed_and_denied_attempts": "last_attempt",
    "top_readers": "last_read",
    "top_writers": "last_write",
    "sessions_by_day": "first_record_on",
    "users_by_day": "first_statement_on",
    "tagged_data_spread": "query_start_time",
    # In the words of other systems.
    **dict.fromkeys(("system_access_audit", *OF_LINEAGE), "event_time"),
    **dict.fromkeys(("snowflake_query_history", "system_query_history"), "start_time"),
    "information_schema_jobs": "creation_time",
}
"""The column that the partition is made of, by table and view."""
_LOGGING_HISTORY, _WAITING = "logging_history", "waiting_events"
_OF_AUDIT = {table.name: table for table in AUDIT_TABLES}
_TABLES = (
    *(table.name for table in (*AUDIT_TABLES, *LATER_TABLES, *SUM_TABLES)),
    *MEASURED,
    *BOUND_ELSEWHERE,
)


def _fields_of_lists(columns: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """The arrays of structs among columns and in them: names and fields in lower case."""
    for name, kind in columns:
        element = element_type(kind)
        fields = struct_fields(element or kind)
        if element:
            yield from ((name.lower(), field.lower()) for field, _ in fields)
        yield from _fields_of_lists(fields)


_FIELDS_OF_LISTS = frozenset(
    pair
    for table in AUDIT_TABLES
    for pair in _fields_of_lists((name, kind) for name, kind, _ in table.columns)
)
_UNKNOWN = "Catalog Error: Table with name "


@dataclass(frozen=True, slots=True)
class Tables:
    """The audit tables of a root, each at its version of when it was opened.

    The two tables of statements are opened at the beginning if they have to be there, the others when they
    are first asked for.

    Attributes:
        root: the folder of the tables.
        schema: in which they and their views are.
        now: the present of all queries, UTC without a zone.
        waiting: rows of query_history about the logging that no ingest has written yet.
        sums: the views take finished days from the tables of `audit summarize`.
    """

    connection: duckdb.DuckDBPyConnection
    root: str
    schema: str
    now: datetime
    waiting: Sequence[Mapping[str, Any]]
    _opened: dict[str, DeltaTable]
    sums: bool = True
    _versions: Mapping[str, int] = field(default_factory=dict)
    _shown: set[str] = field(default_factory=set)

    def ask(self, text: str, values: Mapping[str, Any], limit: int = 0) -> Answer:
        """See `Source.ask`."""
        described = asked_about(text, self.schema)
        if described is not None:
            return self._described(described)
        sql = self.translated(text)
        used = _used(values, sql)
        with self._failures_named():
            # A time with a zone would come as one of Python's own: all of the audit's are UTC.
            kinds = self.connection.execute(f"DESCRIBE {sql}", used).fetchall()
            zoned = [
                f"{quoted(name)}::TIMESTAMP AS {quoted(name)}" for name, kind, *_ in kinds if kind == _ZONED
            ]
            chosen = f"* REPLACE ({', '.join(zoned)})" if zoned else "*"
            bounded = f"SELECT {chosen} FROM ({sql})"  # noqa: S608 - the query itself
            bounded += f" LIMIT {limit}" if limit else ""
            asked = self.connection.execute(bounded, used)
            # Of two columns of one name DuckDB (2.0) calls the second `name_1`.
            columns = tuple(name for name, *_ in asked.description or ())
            found = asked.fetchall()
        return Answer(columns, found)

    def arrow(self, text: str) -> pa.Table:
        """The answer to a query as a table of Arrow; it may be large, so it is asked once.

        Raises:
            QueryFailed: it has a mistake, or asks for what is not there.
            TableUnreadable: a file of a table is damaged, or gone.
        """
        with self._failures_named():
            return self.connection.sql(self.translated(text)).to_arrow_table()

    def texts(
        self, name: str, key: str, where: str, columns: Columns
    ) -> Iterator[tuple[Sequence[str], Iterable[Text]]]:
        """See `Source.texts`."""
        self._show(f"{self.schema}.{name}")
        kinds = self.types(name)
        kinds = current_types(_OF_AUDIT[name], kinds) if name in _OF_AUDIT else kinds
        rows = f"FROM {self._full(name)} WHERE {where}"
        with self._failures_named():
            yield from duckdb_texts(self.connection, rows, key, columns, kinds)

    def _described(self, name: str) -> Answer:
        sql = self.translated(f"SELECT * FROM {sql_name((self.schema, name))}")  # noqa: S608 - quoted
        said = meanings(name)
        with self._failures_named():
            kinds = self.connection.execute(f"DESCRIBE {sql}").fetchall()
        return Answer(COLUMNS, [(one, spark_type(kind), said.get(one)) for one, kind, *_ in kinds])

    def has(self, name: str) -> bool:
        """Whether there is a table or view: older roots lack some, and some were never measured."""
        if not all(map(self.has, tables_below(name))):
            return False
        self._show(f"{self.schema}.{name}")
        return self._is_there(name)

    def types(self, name: str) -> dict[str, str]:
        """The columns of a table with Spark's types; none where it is not there."""
        table = self._table(name)
        return {} if table is None else column_types(table)

    def require_files(self, name: str) -> None:
        """Look whether the files of a table are there, where it lies on this machine.

        Raises:
            TableUnreadable: one is gone.
        """
        table = self._table(name)
        if table is not None and local_path(self.root) is not None:
            require_files(table, name)

    def versions(self) -> dict[str, int]:
        """The versions of the tables that have been opened so far, by name."""
        return {name: table.version() for name, table in self._opened.items()}

    def size(self, name: str) -> int:
        """Bytes of the files of a table, at its version; 0 where it is not there."""
        table = self._table(name)
        return 0 if table is None else size(table)

    def translated(self, text: str) -> str:
        """A query as DuckDB is asked it; what it names is there."""
        sql = to_duckdb(text, self.now, TIMES, self.schema, _FIELDS_OF_LISTS)
        self._show(text)
        return sql

    def _show(self, text: str) -> None:
        named = named_in(text, self.schema) - self._shown
        for name in (*_TABLES, *VIEWS):
            if name in named:
                if name in VIEWS:
                    self._show_view(name)
                elif name == GOVERNANCE:
                    self._show_governance()
                else:
                    self._show_table(name)
                self._shown.add(name)

    def _show_governance(self) -> None:
        rows = f"SELECT unnest(from_json($1, '{structure()}'), max_depth := 2)"
        text = governance_json(self._events())
        self.connection.execute(f"CREATE TABLE {self._full(GOVERNANCE)} AS {rows}", [text])

    def _events(self) -> list[GovernanceEvent]:
        """The events of governance, oldest first; none where nothing has happened yet."""
        try:
            with self._by_spark_alone(EVENTS):
                table = open_table(self.root, EVENTS)
        except TableMissingError:
            return []
        kinds = column_types(table)
        # An older version may lack a column; the first two are the order and the time.
        names = [name for name, _, _ in EVENT_COLUMNS[2:] if name in kinds]
        listed, rows_of = ", ".join(map(quoted, names)), self._rows(EVENTS, table, kinds)
        query = f"SELECT epoch_us(event_time), {listed} FROM ({rows_of}) ORDER BY sequence"  # noqa: S608  quoted
        with self._failures_named():
            rows = self.connection.execute(query).fetchall()
        return [event_from(time, dict(zip(names, values, strict=True)).get) for time, *values in rows]

    def _table(self, name: str) -> DeltaTable | None:
        """A table; None where there is none."""
        if name not in self._opened:
            try:
                self._opened[name] = open_table(self.root, name, self._versions.get(name))
            except TableMissingError:
                return None
        return self._opened[name]

    def _show_table(self, name: str) -> None:
        with self._by_spark_alone(name):
            table = self._table(name)
        if table is None:
            return  # a query that names it says so
        kinds = self.types(name)
        if name in _OF_AUDIT:  # a root of an older version lacks what the views ask for until an attach
            kinds = current_types(_OF_AUDIT[name], kinds)
        rows = self._rows(name, table, kinds)
        with self._failures_named():
            self.connection.execute(f"CREATE VIEW {self._full(name)} AS {rows}")

    def _rows(self, name: str, table: DeltaTable, kinds: Mapping[str, str]) -> str:
        """A query that gives all rows of a table of delta-rs, with these columns of Spark's types."""
        if local_path(self.root) is None:
            # DuckDB has no credentials of the store; delta-rs takes them from the environment.
            source, rows = f"remote_{name}", table.to_pyarrow_dataset()
            self.connection.register(source, rows)
            there = set(rows.schema.names)
            listed = (
                _cast(quoted(one) if one in there else "NULL", one, kind) for one, kind in kinds.items()
            )
        elif files := data_files(table):
            folders = table.metadata().partition_columns
            source = _in_files(files, {one: kind for one, kind in kinds.items() if one not in folders})
            listed = (_of_folder(one, kinds[one]) if one in folders else quoted(one) for one in kinds)
        else:
            source = "(SELECT 1 WHERE false)"
            listed = (_cast("NULL", one, kind) for one, kind in kinds.items())
        return f"SELECT {', '.join(listed)} FROM {source}"  # noqa: S608 - quoted

    def _show_view(self, name: str) -> None:
        self._require_below(name)
        day = newest_finished(name, quoted(self.schema), self._has_sums)
        newest = None if day is None else self._day(day.query())
        text = definition(name, self.schema, newest, "duckdb")
        made = parse_one(text, read="spark")
        columns = [one.name for one in made.this.expressions] if isinstance(made.this, exp.Schema) else []
        listed = f" ({', '.join(map(quoted, columns))})" if columns else ""
        sql = self.translated(made.expression.sql("spark"))
        if name == _LOGGING_HISTORY and self.waiting:
            self._make_waiting()
            for table in made.expression.find_all(exp.Table):
                table.replace(exp.to_table(_WAITING))
            sql += f" UNION ALL {self.translated(made.expression.sql('spark'))}"
        with self._failures_named():
            self.connection.execute(f"CREATE VIEW {self._full(name)}{listed} AS {sql}")

    def _has_sums(self, name: str) -> bool:
        """Whether a table of `audit summarize` is there; its name is shown then."""
        if not self.sums or self._table(name) is None:
            return False
        self._show(f"{self.schema}.{name}")
        return True

    def _day(self, query: str) -> str:
        """The day that a query gives. A literal: DuckDB leaves out no files by the answer of a query."""
        with self._failures_named():
            ((day,),) = self.connection.execute(query).fetchall()
        return f"DATE'{day}'"

    def _make_waiting(self) -> None:
        """The rows that wait; not those that an ingest has written since they were read."""
        kind = json.dumps(in_duckdb(f"ARRAY<STRUCT<{QUERY_HISTORY.row_schema}>>"))
        days = ", ".join({f"DATE '{date.fromisoformat(row['start_time'][:10])}'" for row in self.waiting})
        written = f"FROM {self._full(QUERY_HISTORY.name)} WHERE query_date IN ({days})"
        self.connection.execute(
            f"CREATE TABLE {_WAITING} AS SELECT *, CAST(start_time AS DATE) AS query_date"  # noqa: S608 - our own names
            f" FROM (SELECT unnest(from_json($1, '{kind}'), max_depth := 2))"
            f" ANTI JOIN ({written}) USING (query_id)",
            [to_json(self.waiting).decode()],
        )

    def _require_below(self, name: str) -> None:
        """The error names the view that was asked for, not one that it reads."""
        for below in sorted(tables_below(name)):
            self._show(f"{self.schema}.{below}")
            if not self._is_there(below):
                full = f"{self.schema}.{name}"
                measure = f"attach a session to this root, and name {full} in a query: that measures it"
                raise QueryFailed(
                    f"{full} is not there yet: nothing was measured under {self.root}",
                    "audit.expect(spark, …) writes it" if below == DATA_QUALITY.name else measure,
                )

    @contextmanager
    def _by_spark_alone(self, name: str) -> Iterator[None]:
        try:
            yield
        except UnsupportedStore as error:
            raise TableUnreadable(
                f"the table {name} under {self.root} is read by Spark alone: {error}",
                f"name {self.schema}.{name} in a query of an attached session",
            ) from error

    @contextmanager
    def _failures_named(self) -> Iterator[None]:
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            first, _, _ = str(error).partition("\n\nLINE")
            said, folder = " ".join(first.split()), local_path(self.root)
            # Of a damaged page DuckDB (2.0) raises the class that all its errors have, and names no file.
            if type(error) is duckdb.Error or (folder is not None and f"{folder.absolute()}/" in said):
                raise TableUnreadable(
                    f"a file of the audit tables under {self.root} cannot be read: {said}",
                    "let this user read it, or bring it back from a backup, or with RESTORE TABLE",
                ) from error
            if said.startswith(_UNKNOWN):
                name, _, _ = said.removeprefix(_UNKNOWN).partition(" does not exist!")
                raise self._unknown(name) from error
            raise QueryFailed(f"the query failed: {said}", WAY_OUT) from error

    def _unknown(self, name: str) -> QueryFailed:
        """DuckDB would propose tables of its own."""
        known = (*_TABLES, *VIEWS)
        if name.lower() in known and name.lower() not in self._shown:
            return QueryFailed(f"{name} is named without its schema", f"write {self.schema}.{name}")
        near = difflib.get_close_matches(name.lower(), [one for one in known if one != name.lower()], 3)
        listed = f"near it: {', '.join(near)}; " if near else ""
        return QueryFailed(
            f"there is no table or view {name} among those of {self.schema}",
            f"{listed}docs/reference/views.md lists all",
        )

    def _is_there(self, name: str) -> bool:
        found = "SELECT 1 FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
        # All rows: a result that is not read to its end locks the connection (DuckDB 2.0).
        return bool(self.connection.execute(found, [self.schema, name]).fetchall())

    def _full(self, name: str) -> str:
        return f"{quoted(self.schema)}.{quoted(name)}"


_ZONED = "TIMESTAMP WITH TIME ZONE"


@contextmanager
def opened(
    root: str,
    schema: str = "account_usage",
    *,
    whole: bool = True,
    waiting: Sequence[Mapping[str, Any]] = (),
    sums: bool = True,
    versions: Mapping[str, int] | None = None,
) -> Iterator[Tables]:
    """The tables under a root, until the block ends.

    Args:
        root: the folder of the tables.
        schema: in which they and their views are.
        whole: the two tables of statements have to be there.
        waiting: what waits for an ingest (`audit.spool.waiting_events`), read before the tables are opened.
        sums: the views take finished days from the tables of `audit summarize`.
        versions: of tables that are read as they were; the others as they are now.

    Raises:
        UnsupportedStore: delta-rs cannot read where it lies.
        TableMissingError: one of the two tables of statements is not there.
    """
    history = {table.name: open_table(root, table.name) for table in HISTORY_TABLES} if whole else {}
    with connected(schema) as connection:
        now = datetime.now(timezone.utc).replace(tzinfo=None)
        yield Tables(connection, root, schema, now, waiting, history, sums, versions or {})


def _in_files(files: Iterable[str], kinds: Mapping[str, str]) -> str:
    """What stands in a FROM for the columns of files, some of which have no column or field of that name yet.

    The types are told. `union_by_name` would look into all files each time that a view is made or read.
    """
    paths = ", ".join(map(sql_value, files))
    told = ((sql_value(name), sql_value(in_duckdb(kind))) for name, kind in kinds.items())
    columns = ", ".join(f"{name}: {{name: {name}, type: {kind}, default_value: NULL}}" for name, kind in told)
    return f"read_parquet([{paths}], schema = MAP {{{columns}}}, filename = true)"


def _of_folder(name: str, kind: str) -> str:
    """A column that the table is partitioned on.

    DuckDB (2.0) takes a schema or hive_partitioning, not both. It leaves out files by what is made of their
    names, too.
    """
    value = f"regexp_extract(filename, {sql_value(f'.*/{name}=([^/]+)/')}, 1)"
    return f"TRY_CAST({value} AS {in_duckdb(kind)}) AS {quoted(name)}"


def _cast(value: str, name: str, kind: str) -> str:
    return f"CAST({value} AS {in_duckdb(kind)}) AS {quoted(name)}"


def in_duckdb(kind: str) -> str:
    """A type of Spark's in DuckDB.

    >>> in_duckdb("array<struct<a:bigint>>")
    'STRUCT("a" BIGINT)[]'
    """
    made = exp.DataType.build(kind, dialect="spark").sql("duckdb", identify=True)
    # All times of the audit are UTC, and have no zone in DuckDB.
    return str(made).replace("TIMESTAMPTZ", "TIMESTAMP")


def _used(values: Mapping[str, Any], sql: str) -> dict[str, Any]:
    """DuckDB refuses values of parameters that a query does not have."""
    names = {one.name for one in parse_one(sql, read="duckdb").find_all(exp.Parameter, exp.Placeholder)}
    return {name: value for name, value in values.items() if name in names}
