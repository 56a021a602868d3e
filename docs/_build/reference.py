"""Writes docs/reference/: configuration, command line, Python API, tables, views, from the code itself.

In: the packages of this tree. Out: Markdown pages, which are committed, so that they can be read without a
build. `python docs/_build/reference.py` writes them; tests/setup/test_docs.py fails when one is out of date.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from dataclasses import MISSING, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
GENERATED = (
    "<!-- Written by docs/_build/reference.py from the code. Change the code, then run `make docs`. -->\n"
)

API = (
    ("Sessions", "audit", ("session", "attach", "detach", "as_user", "suppress", "procedure")),
    ("Records", "audit", ("flush", "coverage", "Coverage")),
    ("Tests of your own jobs", "audit.testing", ("records", "Record")),
    ("Lineage across statements", "audit", ("lineage", "diff", "LineageGraph")),
    ("Checks by Great Expectations", "audit", ("expect",)),
    (
        "Results of checks, and checks of the audit tables",
        "audit.checks",
        ("Validation", "Outcome", "check_history", "suite", "CheckResult"),
    ),
    ("Views", "views", ("install",)),
    (
        "Time Travel",
        "audit.time_travel",
        ("read", "diff", "replay", "before", "plan_undo", "UndoPlan", "adopt"),
    ),
    ("Policies", "audit.policies", ("references", "leaks")),
    ("Lineage of one statement, without Spark", "lineage", ("analyze", "analyze_script", "MemoryCatalog")),
)
"""What people import: a heading, the module, its names."""

_WIDE = 100  # a signature that is longer has one parameter a line
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Yields):$", re.MULTILINE)


def configuration() -> str:
    """The page of `audit.core.config.Config`: each key, its variable, its default, what it does."""
    from audit.core.config import Config

    meaning = _entries(_sections(inspect.getdoc(Config) or "")["Attributes"])
    lines = [
        "# Configuration",
        GENERATED,
        "A key can be set in four places. The first of them that names the key wins:",
        "",
        "1. an argument of `audit.attach` or `audit.session`: `audit.attach(spark, retention_days=90)`;",
        "2. a variable of the environment: `AUDIT_RETENTION_DAYS=90`;",
        "3. `audit.toml` in the root, or the file that `AUDIT_CONFIG` names: `retention_days = 90`;",
        "4. the default.",
        "",
        "An unknown key is an error. `audit doctor` shows each value and where it comes from.",
        "",
        "| key | environment | default | meaning |",
        "|---|---|---|---|",
    ]
    derived = {
        "root": "`.audit`",
        "user": "the user of the operating system",
        "spool_dir": "`<root>/spool`; for a remote root a folder in the user's state folder",
        "spool_max_bytes": "1 GiB",
        "admins": "the user of the first session",
    }
    for field in fields(Config):
        if field.name != "sources":
            default = "none" if field.default in (MISSING, None) else f"`{str(field.default).lower()}`"
            row = (
                f"`{field.name}`",
                f"`AUDIT_{field.name.upper()}`",
                derived.get(field.name, default),
                meaning[field.name].rstrip("."),
            )
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |")
    lines += [
        "",
        "Three more variables are no keys:",
        "",
        "| environment | meaning |",
        "|---|---|",
        "| `AUDIT_CONFIG` | the configuration file, in place of `audit.toml` in the root |",
        "| `AUDIT_JARS_DIR` | the folder that keeps Delta's jars; `spark-access-history/jars` in the user's cache"
        " folder by default |",
        "| `AUDIT_MAVEN_URL` | the Maven repository that Delta's jars are fetched from; Maven Central by default |",
        "",
    ]
    return "\n".join(lines)


def command_line() -> str:
    """The page of the command `audit`: what `--help` says of each command."""
    import click

    from audit.cli import main

    lines = [
        "# Command line",
        GENERATED,
        "`audit` comes with `pip install`. Each command has `--help`. `python -m audit.cli` is the same.",
        "",
    ]
    for path, command in _commands(main, "audit"):
        context = click.Context(command, info_name=path)
        usage = " ".join(command.collect_usage_pieces(context))
        text = inspect.cleandoc(command.help or "")
        lines += [f"## {path}", "", "```", f"{path} {usage}", "```", "", text, ""]
        options = [option for option in command.params if isinstance(option, click.Option)]
        if options:
            lines += ["| option | meaning |", "|---|---|"]
        for option in options:
            name, meaning = option.get_help_record(context) or ("", "")
            lines.append(_row(f"`{name}`", meaning))
        lines.append("")
    return "\n".join(lines)


def api() -> str:
    """The page of what people import: signature and docstring of each function and class."""
    lines = [
        "# Python API",
        GENERATED,
        "Every error that is raised on purpose is an `audit.errors.AuditError` with a stable code.",
        "Errors of Spark reach the caller unchanged.",
        "",
    ]
    for heading, module, names in API:
        lines += [f"## {heading}", ""]
        for name in names:
            value = getattr(importlib.import_module(module), name)
            lines += [f"### {module}.{name}", "", *_documented(f"{module}.{name}", value)]
    return "\n".join(lines)


def tables() -> str:
    """The page of the audit tables: name, type and comment of each column."""
    from audit.evidence.digest_log import COLUMNS
    from audit.store.days.finished_tables import FINISHED_TABLES, LAST_TABLES
    from audit.store.later_tables import LATER_TABLES
    from audit.store.tables import AUDIT_TABLES, DIGESTS

    about = {
        "access_history": "One row for each statement that succeeded: Snowflake's ACCESS_HISTORY. A name that the"
        " statement writes is in `direct_objects_accessed`, the tables below views are in"
        " `base_objects_accessed`; views between the two are in neither.",
        "query_history": "One row for each statement, failed and denied ones included: Snowflake's QUERY_HISTORY."
        " A row with the `query_type` `GAP` says what is not on record: how many statements, from when to when,"
        " and why (a full disk under `on_record_failure = warn`, a damaged part of the spool).",
        "column_lineage": "One row for each source column, target column and source kind of a statement that made"
        " something of something; also of a view's definition.",
        "table_lineage": "The same as `column_lineage`, for each source object and target object. A row without"
        " a source says what ended a table's content (`query_type`), or its new name.",
        "data_quality_results": "One row for each expectation of each validation by `audit.expect`; the first one"
        " makes the table. It holds no values of what was validated. The view `data_quality` reads it.",
        "imported_events": "One row for each event of another system; the first `audit import` makes the table."
        " See [Exchange](../exchange.md).",
        "imported_lineage": "One row for each edge that those events tell: of a whole dataset where"
        " `source_column_name` is null, else of a column. `audit.lineage` and `audit lineage` follow it with"
        " `column_lineage` and `table_lineage`.",
    }
    lines = [
        "# Tables",
        GENERATED,
        "The audit tables are Delta tables under the root, `<root>/access_history` and so on, and tables of the same"
        " names in the schema `account_usage`. They are partitioned by day (`query_date`). Times are UTC with"
        " microseconds.",
        "",
        "They use no Delta feature that other readers lack (no deletion vectors, no column mapping, no variant):"
        " [read them without Spark](../reading-without-spark.md). To ask short SQL, use the [views](views.md).",
        "",
    ]
    for table in sorted((*AUDIT_TABLES, *LATER_TABLES), key=lambda one: list(about).index(one.name)):
        lines += [f"## {table.name}", "", about[table.name], "", "| column | type | holds |", "|---|---|---|"]
        lines += [_row(f"`{name}`", f"`{kind}`", text) for name, kind, text in table.columns]
        lines.append("")
    lines += [
        f"## {DIGESTS.name}",
        "",
        "The signed log of what the other tables hold: one row for each entry. See [Evidence](../evidence.md).",
        "",
        "| column | type | holds |",
        "|---|---|---|",
        *(_row(f"`{name}`", f"`{kind}`", text) for name, kind, text in COLUMNS),
        "",
    ]
    for finished in FINISHED_TABLES:
        lines += [
            f"## {finished.name}",
            "",
            f"The rows of the view [`{finished.view}`](views.md#{finished.view}) for days that are over, with its"
            " columns: `audit summarize` writes them, and the view takes them from here.",
            "",
        ]
    for last in LAST_TABLES:
        lines += [
            f"## {last.name}",
            "",
            f"The rows of the view [`{last.view}`](views.md#{last.view}) as of the end of a day (`as_of`), with its"
            " columns: a day for each of the last runs of `audit summarize`. The view opens one in place of all days"
            " before.",
            "",
        ]
    return "\n".join(lines)


def view_columns() -> str:
    """The page of the views: what each says of itself, and of its columns."""
    from audit.store.views import VIEWS, description

    kinds = view_types()
    lines = [
        "# Views",
        GENERATED,
        "An audited session makes these views, in the schema `account_usage`, when a statement first names one;"
        " `views.install(spark)` makes them for other sessions of the same catalog.",
        "",
        "Over many millions of records ask `objects_read`, which flattens less than `columns_read`:"
        " `WHERE object_name = '…' AND array_contains(columns.columnName, 'seats')`. In your own queries use"
        " `LATERAL VIEW explode` as the views do: Spark interprets lambdas (`exists(base_objects_accessed, o -> …)`)"
        " and needs up to three times as long for the same answer.",
        "",
        "| view | answers |",
        "|---|---|",
        *(_row(f"[`{name}`](#{name})", description(name).question) for name in VIEWS),
        "",
    ]
    for name in VIEWS:
        view = description(name)
        lines += [
            f"## {name}",
            "",
            f"**{view.question}** {view.about}",
            "",
            "```sql",
            view.example,
            "```",
            "",
        ]
        lines += ["| column | type | holds |", "|---|---|---|"]
        lines += [
            _row(f"`{column}`", f"`{kind}`", view.columns[column]) for column, kind in kinds[name].items()
        ]
        lines.append("")
    return "\n".join(lines)


def view_types() -> dict[str, dict[str, str]]:
    """The columns of each view with their types, as Spark names them: what DuckDB finds over empty tables.

    tests/sample_queries/test_both_engines.py compares them with those that Spark finds.
    """
    from audit.policies.history.columns import COLUMNS as OF_GOVERNANCE
    from audit.query.functions import connected
    from audit.query.tables import Tables, in_duckdb
    from audit.store.measured.catalog_columns import COLUMNS as OF_CATALOG
    from audit.store.measured.names import BACKUPS, CATALOG, GOVERNANCE
    from audit.store.later_tables import LATER_TABLES
    from audit.store.tables import AUDIT_TABLES
    from audit.store.views import VIEWS
    from audit.time_travel.backups.history import COLUMNS as OF_BACKUPS
    from audit.time_travel.retention.storage_views import COLUMNS as OF_STORAGE

    columns = {
        table.name: (*table.columns, ("query_date", "DATE", "")) for table in (*AUDIT_TABLES, *LATER_TABLES)
    }
    columns |= {GOVERNANCE: OF_GOVERNANCE, CATALOG: OF_CATALOG, BACKUPS: OF_BACKUPS, **OF_STORAGE}
    with connected("account_usage") as connection:
        for name, listed in columns.items():
            made = ", ".join(f'"{column}" {in_duckdb(kind)}' for column, kind, _ in listed)
            connection.execute(f"CREATE TABLE account_usage.{name} ({made})")
        tables = Tables(connection, "", "account_usage", datetime.now(timezone.utc), (), {}, _shown={*columns})
        told = {name: tables.ask(f"DESCRIBE account_usage.{name}", {}).rows for name in VIEWS}
    return {name: {column: kind for column, kind, _ in rows} for name, rows in told.items()}


PAGES: dict[str, Callable[[], str]] = {
    "api.md": api,
    "cli.md": command_line,
    "configuration.md": configuration,
    "tables.md": tables,
    "views.md": view_columns,
}


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    import click

    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command, info_name=path)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        if found is not None:
            yield from _commands(found, f"{path} {name}")


def _documented(name: str, value: Any) -> Iterator[str]:
    """The docstring of a function or class as Markdown; of a class its public methods, too."""
    parts = _sections(inspect.getdoc(value) or "")
    if inspect.isfunction(value):
        yield from ("```python", _signature(name, value), "```", "")
    yield from (_prose(parts.pop("")), "")
    for title, text in parts.items():
        yield from (f"**{title}**", "")
        entries = _entries(text) if title in ("Args", "Raises", "Attributes") else {"": _folded(text)}
        yield from (f"- `{key}`: {said}" if key else said for key, said in entries.items())
        yield ""
    if inspect.isclass(value):
        members = [one for one in vars(value).items() if not one[0].startswith("_")]
        for member, what in members:
            function = what.fget if isinstance(what, property) else what
            if inspect.isfunction(function) and function.__doc__:
                first = inspect.getdoc(function).partition("\n")[0]
                call = member if isinstance(what, property) else _signature(member, function)
                yield f"- `{_folded(call)}`: {first}"
        yield ""


def _signature(name: str, function: Callable[..., Any]) -> str:
    """The signature as the source has it, without `self`; one parameter a line where it is long."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    tree.args.args = [one for one in tree.args.args if one.arg != "self"]
    returned = f" -> {ast.unparse(tree.returns)}" if tree.returns else ""
    parameters = [re.sub(r"^(\w+: [^=]+)=", r"\1 = ", one) for one in _split(ast.unparse(tree.args))]
    text = f"{name}({', '.join(parameters)}){returned}"
    lines = "".join(f"\n    {parameter}," for parameter in parameters)
    return text if len(text) < _WIDE else f"{name}({lines}\n){returned}"


def _split(arguments: str) -> list[str]:
    """The parameters of a list, which commas in no bracket part."""
    depth, found = 0, [""]
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def _sections(doc: str) -> dict[str, str]:
    """A docstring in Google's style: its prose under "", its sections by their titles."""
    pieces = _SECTION.split(doc)
    return {"": pieces[0].strip(), **dict(zip(pieces[1::2], pieces[2::2], strict=True))}


def _entries(section: str) -> dict[str, str]:
    """`name: text` of a section, with the lines that continue it."""
    found: dict[str, str] = {}
    for line in textwrap.dedent(section).strip().splitlines():
        start = re.match(r"([\w*, ]+): (.*)", line)
        if start and not line.startswith(" "):
            found[start[1]] = start[2]
        elif found:
            item = line.strip().startswith("- ")
            found[list(found)[-1]] += ("\n    " if item else " ") + line.strip()
    return found


def _prose(text: str) -> str:
    """Examples become code; the rest is Markdown already."""
    return re.sub(
        r"((?:^>>> .*\n?)(?:^(?!$).*\n?)*)", lambda m: f"```python\n{m[1].rstrip()}\n```\n", text, flags=re.M
    )


def _folded(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    """Write all pages."""
    sys.path.insert(0, str(ROOT))
    for name, page in PAGES.items():
        REFERENCE.joinpath(name).write_text(page().rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
