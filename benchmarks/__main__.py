"""`python -m benchmarks [name …] [--quick]`: measure, then write RESULTS.md.

In: names of benchmarks, all of them by default. Out: `benchmarks/RESULTS.md`. Each one runs in a process
of its own, so that none inherits the JVM, the caches or the settings of the one before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import fields

import click

from benchmarks import report
from benchmarks.one import NAMES
from benchmarks.result import Options


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option(
    "--quick", is_flag=True, help="Tiny sizes, to see that everything works; RESULTS.md stays as it is."
)
@click.option("--scale", type=float, help="tpch, policies, cost: the scale factor (1).")
@click.option(
    "--passes",
    type=int,
    help="as front_door, cost, cross_check, tpch, policies, ingest, checks: measured passes.",
)
@click.option(
    "--records",
    type=int,
    help="ingest, checks: records (100,000); year: records a day (100,000); backups: files (10,000).",
)
@click.option("--days", type=int, help="year, backups: days (365).")
@click.option("--kills", type=int, help="crash: how often a driver is killed (200).")
def main(names: tuple[str, ...], **options: object) -> None:
    """Measure what the audit costs: all of it, or the benchmarks named."""
    chosen = Options(**{field.name: options[field.name] for field in fields(Options)})  # type: ignore[arg-type]
    failed = [name for name in names or NAMES if not _measure(name, chosen)]
    click.echo(f"\nWritten: {report.path_of(quick=chosen.quick)}")
    if failed:
        raise click.ClickException(f"no result of {', '.join(failed)}")


def _measure(name: str, options: Options) -> bool:
    """Run one benchmark in a process of its own; whether it has a result."""
    click.echo(f"\n== {name}")
    began = time.monotonic()
    command = [sys.executable, "-m", "benchmarks.one", name, json.dumps(options.to_dict())]
    done = subprocess.run(command, check=False)
    click.echo(f"== {name}: {time.monotonic() - began:,.0f} s")
    return done.returncode == 0


if __name__ == "__main__":
    main()
