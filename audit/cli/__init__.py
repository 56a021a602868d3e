"""The command line: `audit <command>`; each command is a file of its own beside this one."""

from __future__ import annotations

import click

from audit.cli.doctor import doctor
from audit.cli.ingest import ingest
from audit.cli.output import Commands
from audit.cli.query import query
from audit.cli.retain import retain
from audit.cli.setup import setup
from audit.cli.status import status
from audit.cli.verify import verify

__all__ = ["main"]


@click.group(cls=Commands)
@click.version_option(package_name="spark-access-history")
def main() -> None:
    """Access history for Spark and Delta Lake."""


for command in (doctor, ingest, query, retain, setup, status, verify):
    main.add_command(command)
