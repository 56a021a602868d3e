"""`audit query FILE.sql`: a query over the audit tables, which are opened by path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
import orjson

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--param", multiple=True, metavar="NAME=VALUE", help="A value for `:name` in the text; repeatable."
)
@root_option
@json_option
def query(tool: Tool, output: Output, file: Path, param: tuple[str, ...]) -> None:
    """Run the statements of FILE and show the answer of each.

    The tables are `account_usage.access_history`, `query_history`, `column_lineage` and
    `table_lineage` (or as the configuration names the schema), with the views beside them; no
    metastore is needed. A line
    `-- :days = 30  how far back` in the file's first comment gives a parameter its default.
    """
    from audit.store.tables import register_tables, require_tables
    from views import install
    from views.query_file import read

    defaults = {one.name: one.default for one in read(file).parameters}
    values = defaults | dict(_pair(one) for one in param)
    with tool.spark() as spark:
        there = require_tables(spark, tool.root)
        register_tables(spark, tool.root, tool.config.schema, there)
        install(spark, tool.config.schema)
        for text in statements(file.read_text(encoding="utf-8")):
            rows = spark.sql(text, args=values or None).collect()
            output.rows([_plain(row.asDict(recursive=True)) for row in rows], title=file.name)


def statements(text: str) -> list[str]:
    """The statements of a file, cut at semicolons outside strings and comments.

    >>> statements("SELECT ';'; /* ; */ SELECT 2 ;")
    ["SELECT ';'", '/* ; */ SELECT 2']
    """
    # Strings, comments and quoted names are taken whole; what is left of a semicolon is a cut.
    token = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`[^`]*`|--[^\n]*|/\*.*?\*/|;|.", re.DOTALL)
    parts = [""]
    for found in token.finditer(text):
        if found.group() == ";":
            parts.append("")
        else:
            parts[-1] += found.group()
    bare = re.compile(r"--[^\n]*|/\*.*?\*/|\s", re.DOTALL)
    return [part.strip() for part in parts if bare.sub("", part)]


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
