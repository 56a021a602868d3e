"""`audit check`: do the audit tables hold what is expected of them, by Great Expectations?"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.days import days_options
from audit.cli.on_record import note
from audit.cli.output import Output, Row, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.whole_file import whole_file

if TYPE_CHECKING:
    from audit.checks import CheckResult, Outcome

_SHOWN_IDS = 3
FORMATS = ("table", "json", "html")


@click.command()
@days_options
@click.option(
    "--min-coverage",
    type=click.FloatRange(0, 100),
    default=95.0,
    show_default=True,
    help="The percentage of records that are to be analysed in full.",
)
@click.option("--format", "form", type=click.Choice(FORMATS), help="Of the result; a table by default.")
@click.option(
    "--output", "-o", "path", type=click.Path(dir_okay=False, path_type=Path), help="A file for it."
)
@root_option
@json_option
@click.pass_context
def check(
    context: click.Context,
    tool: Tool,
    output: Output,
    first: date | None,
    last: date | None,
    min_coverage: float,
    form: str | None,
    path: Path | None,
) -> None:
    """Check the audit tables: ids, times, domains, pairs of rows, gaps, retention, hashes, coverage, lineage.

    Needs Great Expectations: pip install 'spark-access-history[checks]'.

    Exit code 1 if an expectation does not hold.
    """
    from audit.checks.engine import require_installed
    from audit.checks.history import require_period

    chosen = output.form_of(form, path, FORMATS)
    days = (first, last)
    require_period(*days)
    _require_writable(path)
    tool.require_audit()
    require_installed()
    result = _checked(tool, output, days, min_coverage)
    if path is not None:
        _write(path, result, chosen)
        output.progress(f"{result.summary}: {path}")
    elif chosen == "table":
        output.rows([_row(one) for one in result.outcomes], title=result.summary)
    else:
        hand_over(_text(result, chosen))
    context.exit(0 if result.success else 1)


def _checked(
    tool: Tool, output: Output, days: tuple[date | None, date | None], min_coverage: float
) -> CheckResult:
    from audit.checks import check_history
    from audit.checks.engine import great_expectations
    from audit.core.clock import SystemClock

    output.progress(f"Checking the records under {tool.root}")
    began = SystemClock().now()
    # To import it takes seconds, in which Spark starts.
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(great_expectations)
        with tool.spark() as spark:
            loading.result()
            result = check_history(spark, tool.root, *days, min_coverage=min_coverage)
    details = {
        "first": None if result.first is None else str(result.first),
        "last": None if result.last is None else str(result.last),
        "min_coverage": min_coverage,
        "statements": result.totals["statements"],
        "records": result.totals["records"],
        "failed": [one.name for one in result.failed],
    }
    note(tool, output, "AUDIT_CHECK", details, began=began)
    return result


def _row(one: Outcome) -> Row:
    ids = one.query_ids
    more = "" if len(ids) <= _SHOWN_IDS else f" and {len(ids) - _SHOWN_IDS} more"
    return {
        "expectation": one.name,
        "verdict": one.verdict,
        "offenders": one.offenders,
        "found": one.error or " ".join(ids[:_SHOWN_IDS]) + more or _days(one),
    }


def _days(one: Outcome) -> str:
    return " ".join(str(row["query_date"]) for row in one.findings[:_SHOWN_IDS] if row.get("query_date"))


def _text(result: CheckResult, form: str) -> str:
    from audit.checks.page import page

    return page(result) if form == "html" else result.to_json()


def _require_writable(path: Path | None) -> None:
    """Before Spark starts: a check may take minutes."""
    from audit.checks.errors import ReportUnwritable

    if path is not None and not path.absolute().parent.is_dir():
        raise ReportUnwritable(
            f"{path} cannot be written: its folder is not there", "name a file in a folder that is"
        )


def _write(path: Path, result: CheckResult, form: str) -> None:
    from audit.checks.errors import ReportUnwritable

    with whole_file(path, ReportUnwritable) as write:
        write(_text(result, form).encode())
