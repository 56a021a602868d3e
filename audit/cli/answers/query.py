"""`audit query`: a sample query, a text or a file of SQL, over the audit tables, which are opened by path."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from audit.cli.answers.tables import opened
from audit.cli.on_record import kept_text, note, waiting
from audit.cli.output import Output, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock
from audit.core.errors import QueryFailed
from audit.core.json_text import shown_json
from audit.core.plain_text import escaped, harmless
from audit.core.whole_file import whole_file
from audit.query.answer import Answer

if TYPE_CHECKING:
    from views.query_file import Query


_LIMIT = 1_000
FORMATS = ("table", "json", "csv", "parquet")


@click.command()
@click.argument("query", required=False, metavar='[NAME|"SQL"|FILE.sql]')
@click.option("--list", "lists", is_flag=True, help="List the sample queries, as without an argument.")
@click.option(
    "--views",
    "lists_views",
    is_flag=True,
    help="List the views, or the one of a NAME, and what each answers.",
)
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
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of the answer; a table by default.")
@click.option(
    "--output", "-o", "path", type=click.Path(dir_okay=False, path_type=Path), help="A file for it."
)
@root_option
@json_option
def query(
    tool: Tool,
    output: Output,
    query: str | None,
    param: tuple[str, ...],
    limit: int,
    form: str | None,
    path: Path | None,
    *,
    lists: bool,
    lists_views: bool,
) -> None:
    """Run a sample query, a query in SQL, or the queries of FILE.sql. Without an argument: list the samples.

    Queries are in Spark's SQL, and read `account_usage.access_history`, `query_history`, `column_lineage`,
    `table_lineage` and the views beside them; `DESCRIBE account_usage.objects_read` tells the columns of one.
    DuckDB answers them from the tables' files: no Spark starts, no metastore is needed, and the file system
    alone says who may read. Storage and the catalog are as an attached session has measured them last. Spark
    answers for roots on a store that delta-rs does not know.

    A file of your own may have parameters, too: a line `-- :days = 30  how far back` in its first
    comment declares `:days` with the default 30.

    That the tables were read is on record: `logging_history` has an AUDIT_QUERY.
    """
    from lineage.sql.tokens import split_statements

    form = output.form_of(form, path, FORMATS)
    if path is None and form == "parquet":
        raise click.UsageError("--format parquet needs a file: --output answer.parquet")
    if query is None or lists or lists_views:
        title, rows = ("Views", _views(query)) if lists_views else ("Sample queries", _samples())
        listed = Answer(tuple(rows[0]), [tuple(row.values()) for row in rows])
        _show(output, listed, title, form, path)
        return
    found = _found(query)
    given = dict(_pair(one) for one in param)
    values = found.arguments(given, also=_placeholders(found.sql))
    # By tokens: a `;` in a string or a comment ends no statement.
    texts = list(split_statements(found.sql))
    if path is not None and len(texts) > 1:
        raise click.UsageError(f"{query} has {len(texts)} queries, and --output takes the answer of one")
    began = SystemClock().now()
    with opened(tool, waiting=waiting(tool, output)) as tables:
        for number, text in enumerate(texts):
            # One row more than asked for shows that there are more.
            answer = tables.ask(text, values, limit + 1 if limit else 0)
            if not number:
                # Before the first row is shown; a query that fails has shown nothing.
                note(tool, output, "AUDIT_QUERY", _details(tool, query, found, values), began=began)
            if limit and len(answer.rows) > limit:
                answer = replace(answer, rows=answer.rows[:limit])
                output.progress(f"The first {limit:,} rows; --limit 0 shows all")
            _show(output, answer, found.question, form, path)


def _details(tool: Tool, asked: str, query: Query, values: dict[str, Any]) -> dict[str, Any]:
    """What goes on record of a query: a sample query has a name, any other its text."""
    from lineage.sql.redaction.rules import PLACEHOLDER
    from views.query_file import sample_names

    if asked in sample_names():
        return {"query": asked, "parameters": values}
    # As literals they are hidden where the configuration hides literals.
    hides = tool.config.redact == "literals"
    shown = {name: PLACEHOLDER if hides else value for name, value in values.items()}
    return {"sql": kept_text(query.sql, tool.config), "parameters": shown}


def _found(query: str) -> Query:
    """A sample query, that of a file, or the text itself.

    Raises:
        SampleQueryUnknown: it is none of them.
    """
    from views.query_file import Query, read, sample, sample_names

    if query in sample_names():
        return sample(query)
    if _is_file(query):
        return read(Path(query))
    # A name and a path that does not exist have no space; a query has.
    return Query("the query", "", (), query) if len(query.split()) > 1 else sample(query)


def _is_file(query: str) -> bool:
    try:
        return Path(query).is_file()
    except OSError:
        return False  # a query is longer than a name may be, which Python (3.11) raises for


def _show(output: Output, answer: Answer, title: str, form: str, path: Path | None) -> None:
    rows = [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]
    if path is not None:
        with whole_file(path, QueryFailed) as write:
            write(_parquet(answer) if form == "parquet" else _written(answer, rows, form).encode())
        output.progress(f"{len(rows):,} rows in {path}")
    elif form == "table":
        output.rows([_plain(row) for row in rows], title=title)
    else:
        hand_over(_written(answer, rows, form))


def _written(answer: Answer, rows: list[dict[str, Any]], form: str) -> str:
    if form == "json":
        return shown_json([_plain(row) for row in rows])
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, answer.columns))
    writer.writerows(map(_cell, _plain(row).values()) for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A value of CSV as the one of a report: no formula, and no letter that cannot be seen."""
    # Before it is escaped: a tab at the beginning would be none afterwards.
    return escaped(harmless(value), "\n\t") if isinstance(value, str) else value


def _parquet(answer: Answer) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet

    columns = [list(column) for column in zip(*answer.rows, strict=True)] or [[] for _ in answer.columns]
    sink = pa.BufferOutputStream()
    parquet.write_table(pa.table(columns, names=list(answer.columns)), sink)
    return bytes(sink.getvalue())


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


def _samples() -> list[dict[str, Any]]:
    from views.query_file import sample, sample_names

    def row(one: Query) -> dict[str, Any]:
        parameters = ", ".join(f"{parameter.name}={parameter.default}" for parameter in one.parameters)
        return {"theme": one.theme, "name": one.name, "answers": one.question, "parameters": parameters}

    return [row(one) for one in sorted(map(sample, sample_names()), key=lambda one: (one.theme, one.name))]


def _views(wanted: str | None) -> list[dict[str, Any]]:
    """All of them, or the one of a name."""
    from audit.store.views import VIEWS, description

    if wanted is not None and wanted not in VIEWS:
        raise click.UsageError(f"there is no view {wanted!r}: audit query --views lists all")
    about = {name: description(name) for name in sorted(VIEWS) if wanted in (None, name)}
    return [{"name": name, "answers": one.question, "example": one.example} for name, one in about.items()]


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
        return orjson.dumps(value, default=_text).decode()
    if isinstance(value, (bytes, bytearray)):
        return value.hex().upper()
    return str(value)
