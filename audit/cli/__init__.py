"""The command line: `audit <command>`; each command is a file of its own beside this one."""

from __future__ import annotations

import click

from audit.cli.doctor import doctor
from audit.cli.output import Commands
from audit.cli.setup import setup

__all__ = ["main"]


@click.group(cls=Commands)
@click.version_option(package_name="spark-access-history")
def main() -> None:
    """Access history for Spark and Delta Lake."""


main.add_command(doctor)
main.add_command(setup)
