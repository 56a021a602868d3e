"""`audit report`: figures for an auditor, each with its SQL, as one file, without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from audit.cli.on_record import note, waiting
from audit.cli.output import Output, json_option
from audit.cli.signals import ended_by_signals
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock

if TYPE_CHECKING:
    from audit.query.tables import Tables
    from audit.report.answers import Made, Report
    from audit.report.model import About, Kind, Pack
    from audit.report.period import Period

FORMATS = ("html", "pdf", "csv", "json")
_SUBJECT = "subject"


@click.command()
@click.argument("report", required=False, metavar="[REPORT")
@click.argument("name", required=False, metavar="[NAME]]")
@click.option(
    "--from",
    "first",
    metavar="DAY",
    help="First day (UTC), as 2026-01-31; by default 30 days up to the last.",
)
@click.option("--to", "last", metavar="DAY", help="Last day (UTC), a part of the period; today by default.")
@click.option(
    "--output", "-o", "path", type=click.Path(path_type=Path), help="The file: .html, .pdf, .csv or .json."
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="The format, where the file's name does not tell."
)
@click.option(
    "--pack", "norm", metavar="NORM", help="Order by a norm: pci-dss-10, hipaa-164.312-b, sox, gdpr-30."
)
@click.option("--without-names", is_flag=True, help="Give users pseudonyms; leave out what may name them.")
@click.option("--with-names", is_flag=True, help="Of the report `subject`, which has pseudonyms: name users.")
@click.option(
    "--table",
    "named",
    multiple=True,
    metavar="NAME[=FOLDER]",
    help="Of the report `subject`: a table with the key, and where its files lie if no record says so;"
    " repeatable.",
)
@root_option
@json_option
def report(
    tool: Tool,
    output: Output,
    report: str | None,
    name: str | None,
    first: str | None,
    last: str | None,
    path: Path | None,
    form: str | None,
    norm: str | None,
    named: tuple[str, ...],
    *,
    without_names: bool,
    with_names: bool,
) -> None:
    """Write a report for an auditor.

    The reports: access, sensitive-data, changes, privileges, lineage, retention, user NAME, object NAME,
    subject "COLUMN = VALUE" --table NAME: which statements could have read the row of a person.

    Each number, table and chart has its query, which `audit query` runs. Without a report, --pack gives all
    that the norm asks for. DuckDB answers from the tables' files: no Spark starts.

    That a report was made is on record: `logging_history` has an AUDIT_REPORT.
    """
    from audit.report.forms.file import content
    from audit.report.period import period_of

    kind, pack = _asked(report, name, norm)
    hides = _hides_names(kind, named, pack, without_names=without_names, with_names=with_names)
    made, began = _made(tool), SystemClock().now()
    period = period_of(first, last, made.at.date())
    tool.require_audit()
    chosen = _form(output, form, path)
    with ended_by_signals(), _writing(path) as write, _opened(tool, output) as tables:
        about = _about(tables, kind, name, named, period)
        filled = _filled(tool, tables, kind, pack, about, period, made, without_names=hides)
        text = content(filled, chosen)
        # Before it is handed over: what fails before this has shown nothing.
        note(tool, output, "AUDIT_REPORT", _details(filled, about, named, chosen), began=began)
        write(text)
    if path is not None:
        output.progress(f"{path}: {period}")


def _asked(report: str | None, name: str | None, norm: str | None) -> tuple[Kind | None, Pack | None]:
    from audit.report.kinds import REPORTS, kind_of
    from audit.report.packs import pack_of

    kind = None if report is None else kind_of(report)
    pack = None if norm is None else pack_of(norm)
    if kind is None and pack is None:
        raise click.UsageError(f"name a report ({', '.join(REPORTS)}), or a norm by --pack")
    if kind is not None and kind.name == _SUBJECT:
        if not name:
            raise click.UsageError('name the row: audit report subject "customer_id = 7" --table NAME')
    elif kind is not None and kind.find is not None and not name:
        raise click.UsageError(
            f"{kind.name} is a report about one {kind.name}: audit report {kind.name} NAME"
        )
    elif kind is not None and kind.find is None and name:
        raise click.UsageError(f"{kind.name} is a report about the whole root, and takes no name")
    return kind, pack


def _hides_names(
    kind: Kind | None, named: tuple[str, ...], pack: Pack | None, *, without_names: bool, with_names: bool
) -> bool:
    """Whether users have pseudonyms: in a report for a person, who is owed no names, by default."""
    if kind is not None and kind.name == _SUBJECT:
        if not named:
            raise click.UsageError("subject is a report about rows of tables: --table catalog.schema.table")
        if pack is not None:
            raise click.UsageError("subject has an order of its own, and takes no --pack")
        if with_names and without_names:
            raise click.UsageError("--with-names and --without-names: give one")
        return not with_names
    if with_names or named:
        option = "--with-names" if with_names else "--table"
        raise click.UsageError(f"{option} is an option of the report subject alone")
    return without_names


def _about(
    tables: Tables, kind: Kind | None, name: str | None, named: tuple[str, ...], period: Period
) -> About | None:
    """What the report is about; None: the whole root."""
    if kind is None or not name:
        return None
    if kind.name == _SUBJECT:
        from audit.report.subject.about import subject_about

        return subject_about(tables, name, named, period)
    return kind.find(tables, name, period) if kind.find is not None else None


def _details(report: Report, about: About | None, named: tuple[str, ...], form: str) -> dict[str, Any]:
    """What goes on record of a report. A person's key is not among it."""
    is_of_person = about is not None and about.is_the_asking_person
    return {
        "report": report.name,
        "norm": report.norm.name if report.norm is not None else None,
        "about": about.name if about is not None and not is_of_person else None,
        "tables": [one.partition("=")[0] for one in named],
        "first": str(report.period.first),
        "last": str(report.period.last),
        "without_names": report.without_names,
        "format": form,
    }


def _form(output: Output, form: str | None, path: Path | None) -> str:
    """The format: as asked for, else by the end of the file's name."""
    from audit.report.forms.file import format_of

    if output.as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} are two formats: give one")
    chosen = "json" if output.as_json else form
    if path is not None:
        return format_of(path, chosen)
    if chosen in (None, "pdf"):
        raise click.UsageError("name the file: --output report.html, .pdf, .csv or .json")
    return chosen


def _filled(
    tool: Tool,
    tables: Tables,
    kind: Kind | None,
    pack: Pack | None,
    about: About | None,
    period: Period,
    made: Made,
    *,
    without_names: bool,
) -> Report:
    """The report with its rows."""
    from audit.report.answers import Asking, fill
    from audit.report.names import Pseudonyms
    from audit.spool.home import hash_key

    names = None
    if without_names:
        names = Pseudonyms.of(tables, hash_key(tool.config.spool_home), [made.by])
    return fill(Asking.of(tables, period, about, names), made, period, kind, pack, about)


@contextmanager
def _opened(tool: Tool, output: Output) -> Iterator[Tables]:
    from audit.query.tables import opened
    from audit.report.errors import ReportRootUnreadable
    from audit.store.delta_files import UnsupportedStore

    try:
        with opened(tool.root, tool.config.schema, waiting=waiting(tool, output)) as tables:
            yield tables
    except UnsupportedStore as error:
        raise ReportRootUnreadable(
            f"delta-rs cannot read {tool.root} ({error})",
            "copy the tables to a disk or an object store that it knows, and name that as --root",
        ) from error


@contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[bytes], object]]:
    """What takes the content: a file, or stdout."""
    from audit.core.whole_file import whole_file
    from audit.report.errors import ReportUnwritable

    if path is None:
        yield hand_over
        return
    with whole_file(path, ReportUnwritable) as write:
        yield write


def _made(tool: Tool) -> Made:
    """By whom, when, with which version."""
    from importlib import metadata

    from audit.core.clock import to_datetime
    from audit.report.answers import Made

    now = to_datetime(SystemClock().now()).replace(tzinfo=None, microsecond=0)
    return Made(tool.config.user, now, metadata.version("spark-access-history"))
