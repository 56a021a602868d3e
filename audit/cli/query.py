"""`audit query`: a sample query, or a file of SQL, over the audit tables, which are opened by path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from views.query_file import Query


@click.command()
@click.argument("query", required=False, metavar="[NAME|FILE.sql]")
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="The value of the parameter `:NAME`; repeatable."
)
@root_option
@json_option
def query(tool: Tool, output: Output, query: str | None, param: tuple[str, ...]) -> None:
    """Run a sample query, or the statements of FILE.sql. Without an argument: list the sample queries.

    The statements read `account_usage.access_history`, `query_history`, `column_lineage`,
    `table_lineage` and the views beside them. The tables are opened by path; no metastore is needed,
    except for `unused_tables`, which needs the catalog.

    A file of your own may have parameters, too: a line `-- :days = 30  how far back` in its first
    comment declares `:days` with the default 30.
    """
    from lineage.sql.tokens import split_statements
    from views.query_file import read, sample, sample_names

    if query is None:
        output.rows([_described(sample(name)) for name in sample_names()], title="Sample queries")
        return
    found = read(Path(query)) if Path(query).is_file() else sample(query)
    values = {one.name: one.default for one in found.parameters} | dict(_pair(one) for one in param)
    with _opened(tool, found) as spark:
        # By tokens: a `;` in a string or a comment ends no statement.
        for text in split_statements(found.sql):
            rows = spark.sql(text, args=values or None).collect()
            output.rows([_plain(row.asDict(recursive=True)) for row in rows], title=found.question)


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
        install(spark, tool.config.schema)
        if wants_catalog:
            catalog.register_catalog(spark, without=(tool.config.schema,))
        yield spark


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
