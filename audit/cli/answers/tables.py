"""The audit tables for a command: in DuckDB, or in Spark where it alone can read them.

In: a `Tool`. Out: a `Source`, which answers Spark's SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from audit.cli.tool import Tool, names_a_file
from audit.core.errors import QueryFailed
from audit.query.answer import WAY_OUT, Answer, Source

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from audit.evidence.row_texts import Columns, Text


@contextmanager
def opened(tool: Tool, *, whole: bool = True, waiting: Sequence[Mapping[str, Any]] = ()) -> Iterator[Source]:
    """The tables under the root of a command, until the block ends.

    Args:
        tool: of the command.
        whole: the two tables of statements have to be there.
        waiting: events that wait for an ingest, which DuckDB shows in `logging_history`.

    Raises:
        RootMissing: nothing is under the root.
        TableMissingError: one of the two tables of statements is not there.
    """
    from audit.query import tables
    from audit.store.delta_files import UnsupportedStore
    from audit.store.tables import AUDIT_TABLES

    tool.require_audit()
    with ExitStack() as stack:
        try:
            source: Source = stack.enter_context(
                tables.opened(tool.root, tool.config.schema, whole=whole, waiting=waiting)
            )
            for table in AUDIT_TABLES:
                source.types(table.name)  # opens it: one that delta-rs cannot read shows now
        except UnsupportedStore:
            source = in_spark(stack.enter_context(tool.spark()), tool, whole=whole)
        yield source


@dataclass(frozen=True, slots=True)
class InSpark:
    """The audit tables of a root and their views, in a session whose catalog knows them."""

    spark: SparkSession
    root: str
    schema: str

    def ask(self, text: str, values: Mapping[str, Any], limit: int = 0) -> Answer:
        """See `Source.ask`."""
        with _failures_told():
            frame = _with_own_names(self.spark.sql(text, args=dict(values) or None))
            rows = (frame.limit(limit) if limit else frame).collect()
        found = [row.asDict(recursive=True).values() for row in rows]
        return Answer(tuple(frame.columns), [tuple(map(_in_utc, row)) for row in found])

    def arrow(self, text: str) -> pa.Table:
        """See `Source.arrow`."""
        with _failures_told():
            return self.spark.sql(text).toArrow()

    def texts(
        self, name: str, key: str, where: str, columns: Columns
    ) -> Iterator[tuple[Sequence[str], Iterable[Text]]]:
        """See `Source.texts`."""
        from audit.evidence.row_texts import names_to_read, row_texts
        from lineage.names import sql_name

        listed = ", ".join(sql_name([one]) for one in names_to_read(key, columns))
        rows = self.arrow(f"SELECT {listed} FROM {sql_name([self.schema, name])} WHERE {where}")  # noqa: S608 - quoted
        yield rows[key].to_pylist(), row_texts(rows, columns)

    def types(self, name: str) -> dict[str, str]:
        """See `Source.types`."""
        full = f"{self.schema}.{name}"
        return dict(self.spark.table(full).dtypes) if self.spark.catalog.tableExists(full) else {}

    def size(self, name: str) -> int:
        """See `Source.size`."""
        # The size of the newest version; files of older ones stay until a VACUUM.
        (detail,) = self.spark.sql(f"DESCRIBE DETAIL {self.schema}.{name}").collect()
        return int(detail["sizeInBytes"])


@contextmanager
def _failures_told() -> Iterator[None]:
    from audit.spark.java_errors import CALL_ERRORS, java_message
    from audit.store.error_translation import first_lines

    try:
        yield
    except CALL_ERRORS as error:
        if names_a_file(error):
            raise  # `Tool.spark` says which
        raise QueryFailed(f"the query failed: {first_lines(java_message(error))}", WAY_OUT) from error


def in_spark(spark: SparkSession, tool: Tool, *, whole: bool = True) -> InSpark:
    """A Spark that knows the audit tables and the views.

    Args:
        spark: a session with Delta.
        tool: of the command.
        whole: the tables have to be there, as this version makes them.

    Raises:
        TableAlteredError: a table is not as this version made it, or gone.
    """
    from audit.spark.sessions import own_session
    from audit.store.made_tables import exists, require_tables
    from audit.store.registration import register_tables
    from audit.store.tables import AUDIT_TABLES, HISTORY_TABLES
    from views import install

    own, schema = own_session(spark), tool.config.schema
    if whole:
        there = require_tables(own, tool.root)
    else:
        there = tuple(table for table in AUDIT_TABLES if exists(own, table, tool.root))
    register_tables(own, tool.root, schema, there)
    _register_measured(own, tool)
    if set(HISTORY_TABLES) <= set(there):
        install(own, schema)
    return InSpark(own, tool.root, schema)


def _register_measured(spark: SparkSession, tool: Tool) -> None:
    """Also the tables below the other views, as they were measured last, and those that a check reads."""
    from audit.evidence.bound_tables import BOUND_ELSEWHERE
    from audit.spark.delta.delta_log import delta_log
    from audit.store.measured.names import MEASURED
    from lineage.names import sql_name, sql_text

    for name in (*MEASURED, *BOUND_ELSEWHERE):
        location = f"{tool.root.rstrip('/')}/{name}"
        if delta_log(spark, location).tableExists():
            table = sql_name([tool.config.schema, name])
            spark.sql(f"CREATE TABLE IF NOT EXISTS {table} USING delta LOCATION {sql_text(location)}")


def _with_own_names(frame: DataFrame) -> DataFrame:
    """Columns of one name get a number, as DuckDB gives them: a row as a dict would lose one."""
    names: list[str] = []
    for name in frame.columns:
        taken = sum(one == name for one in frame.columns[: len(names)])
        names.append(f"{name}_{taken}" if taken else name)
    return frame.toDF(*names) if names != frame.columns else frame


def _in_utc(value: Any) -> Any:
    """PySpark's `collect` gives times in the zone of the process, without saying so."""
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).replace(tzinfo=None)
    if isinstance(value, dict):
        return {key: _in_utc(item) for key, item in value.items()}
    return [_in_utc(item) for item in value] if isinstance(value, list) else value
