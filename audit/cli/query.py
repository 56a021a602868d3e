"""`audit query`: a sample query, or a file of SQL, over the audit tables, which are opened by path."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option
from audit.core.errors import QueryFailed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from views.query_file import Query


_LIMIT = 1_000


@click.command()
@click.argument("query", required=False, metavar="[NAME|FILE.sql]")
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="The value of the parameter `:NAME`; repeatable."
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_LIMIT,
    show_default=True,
    help="The most rows of an answer; 0: all of them.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV instead of a table.")
@root_option
@json_option
def query(
    tool: Tool, output: Output, query: str | None, param: tuple[str, ...], limit: int, *, as_csv: bool
) -> None:
    """Run a sample query, or the statements of FILE.sql. Without an argument: list the sample queries.

    The statements read `account_usage.access_history`, `query_history`, `column_lineage`,
    `table_lineage` and the views beside them. The tables are opened by path; no metastore is needed,
    except for `unused_tables`, which needs the catalog.

    A file of your own may have parameters, too: a line `-- :days = 30  how far back` in its first
    comment declares `:days` with the default 30.
    """
    from lineage.sql.tokens import split_statements
    from views.query_file import read, sample, sample_names

    if as_csv and output.as_json:
        raise click.UsageError("--csv and --json are two forms of an answer: give one")
    if query is None:
        rows = [_described(sample(name)) for name in sample_names()]
        _show(output, list(rows[0]), rows, "Sample queries", as_csv=as_csv)
        return
    found = read(Path(query)) if Path(query).is_file() else sample(query)
    given = dict(_pair(one) for one in param)
    values = found.arguments(given, also=_placeholders(found.sql))
    with _opened(tool, found) as spark:
        # By tokens: a `;` in a string or a comment ends no statement.
        for text in split_statements(found.sql):
            columns, rows = _answered(spark, text, values, limit)
            if limit and len(rows) > limit:
                rows = rows[:limit]
                output.progress(f"The first {limit:,} rows; --limit 0 shows all")
            _show(output, columns, rows, found.question, as_csv=as_csv)


def _answered(
    spark: SparkSession, text: str, values: dict[str, Any], limit: int
) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns and rows of a statement; one row more than asked for, where there are more.

    Raises:
        QueryFailed: Spark refuses it, or fails.
    """
    from audit.spark.java_errors import CALL_ERRORS, java_message
    from audit.store.error_translation import first_lines

    try:
        frame = spark.sql(text, args=values or None)
        rows = (frame.limit(limit + 1) if limit else frame).collect()
    except CALL_ERRORS as error:
        raise QueryFailed(
            f"the query failed: {first_lines(java_message(error))}",
            "mend it; `audit query` lists those that come along, docs/reference/views.md the columns",
        ) from error
    return frame.columns, [_plain(row.asDict(recursive=True)) for row in rows]


def _show(
    output: Output, columns: list[str], rows: list[dict[str, Any]], title: str, *, as_csv: bool
) -> None:
    if not as_csv:
        output.rows(rows, title=title)
        return
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(row.values() for row in rows)
    click.echo(text.getvalue(), nl=False)


def _placeholders(sql: str) -> frozenset[str]:
    """The names of `:name` in a text, declared or not."""
    from lineage.sql.tokens import tokenize, word

    tokens = tokenize(sql) or []

    def touches(at: int) -> bool:
        return 0 < at < len(tokens) and tokens[at - 1].end + 1 == tokens[at].start

    return frozenset(
        tokens[at + 1].text
        for at in range(len(tokens) - 1)
        # In `v:field`, a path into a VARIANT, the colon follows a name or a bracket.
        if word(tokens, at) == ":"
        and touches(at + 1)
        and not (touches(at) and (tokens[at - 1].text[-1:].isalnum() or tokens[at - 1].text in ")]_"))
    )


def _described(query: Query) -> dict[str, Any]:
    parameters = ", ".join(f"{one.name}={one.default}" for one in query.parameters)
    return {"name": query.name, "answers": query.question, "parameters": parameters}


@contextmanager
def _opened(tool: Tool, query: Query) -> Iterator[SparkSession]:
    """A Spark that knows the audit tables and the views; with the catalog's tables where the query asks."""
    from audit.store.registration import register_tables
    from audit.store.tables import require_tables
    from views import catalog, install

    # Derby lets one process into an embedded metastore, so it is opened where a query needs it, not for all.
    wants_catalog = catalog.NAME in query.sql
    with tool.catalog_spark() if wants_catalog else tool.spark() as spark:
        there = require_tables(spark, tool.root)
        register_tables(spark, tool.root, tool.config.schema, there)
        _register_storage(spark, tool)
        install(spark, tool.config.schema)
        if wants_catalog:
            catalog.register_catalog(spark, without=(tool.config.schema,))
        yield spark


def _register_storage(spark: SparkSession, tool: Tool) -> None:
    """Also the tables below the views of storage, as an attached session has measured them last."""
    from audit.spark.delta.delta_log import delta_log
    from audit.time_travel.retention.storage_views import SCHEMATA, TABLES
    from lineage.names import sql_name, sql_text

    for name in (TABLES, SCHEMATA):
        location = f"{tool.root.rstrip('/')}/{name}"
        if delta_log(spark, location).tableExists():
            table = sql_name([tool.config.schema, name])
            spark.sql(f"CREATE TABLE IF NOT EXISTS {table} USING delta LOCATION {sql_text(location)}")


def _pair(text: str) -> tuple[str, Any]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="--param")
    try:
        return name, orjson.loads(value)  # a number, true, false; what is none is text
    except orjson.JSONDecodeError:
        return name, value


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value if isinstance(value, (str, int, float, type(None))) else _text(value)
        for key, value in row.items()
    }


def _text(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return orjson.dumps(value, default=str).decode()
    return str(value)
