"""The command line: `audit <command>`; each command is a file of its own, beside this one or below."""

from __future__ import annotations

import click

from audit.cli.output import Commands

__all__ = ["main"]


@click.group(
    cls=Commands,
    modules=(
        "answers.coverage",
        "answers.digest",
        "answers.prove",
        "answers.query",
        "answers.report",
        "answers.status",
        "answers.verify",
        "check",
        "doctor",
        "exchange.export",
        "exchange.import_",
        "ingest",
        "lineage",
        "retain",
        "setup",
        "summarize",
        "time_travel.backup",
        "time_travel.failsafe",
        "time_travel.purge",
        "time_travel.storage",
    ),
)
# The version is in pyproject.toml alone; Click asks importlib.metadata for it.
@click.version_option(package_name="spark-access-history")
def main() -> None:
    """Access history for Spark and Delta Lake."""
