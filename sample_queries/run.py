"""Ask one of the sample queries: `python -m sample_queries.run who_read_object --object_name …`.

In: the name of a query and its parameters. Out: the question and a table. Without a name: the list.
"""

from __future__ import annotations

import argparse
import sys
import textwrap

import audit
import views
from audit.errors import AuditError
from sample_queries import queries
from sample_queries.screen import Screen, short


def main() -> int:
    """Run the command line; 2 when the query could not be run."""
    arguments = _arguments()
    screen = Screen()
    if arguments.query is None:
        _list(screen)
        return 0
    query = queries.load(arguments.query)
    given = {
        p.name: value for p in query.parameters if (value := getattr(arguments, p.name, None)) is not None
    }
    try:
        with screen.working(total=1) as progress:
            progress.update(progress.task_ids[0], description="Starting Spark", total=None)
            spark = audit.session(root=arguments.root)
            views.install(spark)
            found = query.ask(spark, **given)
    except AuditError as error:
        print(error, file=sys.stderr)
        return 2
    screen.heading(query.question)
    _show(screen, found)
    spark.stop()
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m sample_queries.run", description=__doc__)
    parser.add_argument("--root", help="the folder of the audit tables (.audit)")
    chosen = parser.add_subparsers(dest="query", metavar="query")
    for name in queries.names():
        query = queries.load(name)
        command = chosen.add_parser(name, help=query.question, description=query.question)
        for parameter in query.parameters:
            text = f"{parameter.meaning} ({parameter.default})".replace("%", "%%")
            command.add_argument(f"--{parameter.name}", type=type(parameter.default), help=text)
    return parser.parse_args()


def _list(screen: Screen) -> None:
    rows = [queries.load(name) for name in queries.names()]
    screen.rows(rows, {"query": lambda q: q.name, "answers": lambda q: q.question})


def _show(screen: Screen, found: list) -> None:
    if not found:
        screen.show("No rows.")
        return
    names = found[0].asDict()
    shorten = {n for n in names if n.endswith(("object_name", "sources", "comes_from"))}
    columns = {n: (lambda row, n=n: short(row[n])) if n in shorten else n for n in names}
    if "query_text" in columns:
        columns["query_text"] = lambda row: textwrap.shorten(row["query_text"], 110, placeholder=" …")
    screen.rows(found, columns)


if __name__ == "__main__":
    sys.exit(main())
