"""`audit setup`: what a start of Spark needs beside Python's packages, made ready once."""

from __future__ import annotations

import os

import click

from audit.cli.output import Output, json_option
from audit.embedded import jars, java


@click.command()
@json_option
def setup(output: Output) -> None:
    """Check Java and fetch Delta's jars; a Spark start needs no network afterwards."""
    java.find(os.environ)
    found = jars.resolve(os.environ, say=output.progress)
    rows = zip(jars.locked(), found, strict=True)
    output.rows([{"jar": jar.name, "version": jar.version, "path": str(path)} for jar, path in rows])
