"""`audit doctor`: checks the requirements of a start, and shows the configuration."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata

import click

from audit.cli.output import Output, json_option
from audit.core import config
from audit.core.errors import AuditError
from audit.spark.embedded import class_archive, jars, java

PACKAGES = ("spark-access-history", "pyspark", "delta-spark", "sqlglot", "pyarrow", "pandas")


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the answer; `ok` is False where something must be put right."""

    what: str
    ok: bool
    found: str
    source: str = ""


@click.command()
@click.option("--root", help="Show the configuration of this root.")
@json_option
@click.pass_context
def doctor(context: click.Context, output: Output, root: str | None) -> None:
    """Check Java, jars, packages and configuration. Exit code 1 if something is missing."""
    findings = list(examine(os.environ, root))
    if output.as_json:
        output.rows([asdict(finding) for finding in findings])
    else:
        # A line each: paths are too long for a table beside the rest.
        width = max(len(finding.what) for finding in findings)
        for one in findings:
            source = f"  ({one.source})" if one.source else ""
            click.echo(f"{'ok' if one.ok else 'NO'}  {one.what:<{width}}  {one.found}{source}")
    context.exit(0 if all(finding.ok for finding in findings) else 1)


def examine(environ: Mapping[str, str], root: str | None = None) -> Iterator[Check]:
    """Every check in turn; none of them changes anything."""
    yield Check("python", ok=True, found=platform.python_version())
    yield from map(_package, PACKAGES)
    yield _compiled_parser()
    yield _java(environ)
    yield from (_jar(jar, environ) for jar in jars.locked())
    yield _archive(environ)
    yield from _config(environ, root)


def _package(name: str) -> Check:
    try:
        # From the package's metadata: importing PySpark takes 0.3 s.
        return Check(name, ok=True, found=metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(name, ok=False, found=f"not installed: pip install {name}")


def _compiled_parser() -> Check:
    """The compiled core of sqlglot has no wheel for Python 3.10: slower there, not amiss."""
    try:
        return Check("sqlglotc", ok=True, found=metadata.version("sqlglotc"))
    except metadata.PackageNotFoundError:
        return Check("sqlglotc", ok=True, found="not there: parsing takes about four times as long")


def _java(environ: Mapping[str, str]) -> Check:
    try:
        found = java.find(environ)
    except AuditError as error:
        return Check("java", ok=False, found=error.message)
    return Check("java", ok=True, found=f"{found.version}, {found.executable}", source=found.found_by)


def _jar(jar: jars.Jar, environ: Mapping[str, str]) -> Check:
    path = jars.cache_dir(environ) / jar.name
    if jars.is_intact(jar, path):
        return Check(jar.name, ok=True, found=str(path), source="sha256 as in jars.lock")
    state = "damaged" if path.exists() else "missing"
    return Check(jar.name, ok=False, found=f"{state}: {path}; run `audit setup`")


def _archive(environ: Mapping[str, str]) -> Check:
    """Without it a start is slower, not amiss."""
    delta = [jars.cache_dir(environ) / jar.name for jar in jars.locked()]
    try:
        path = class_archive.locate(environ, delta)
    except AuditError:
        return Check("class archive", ok=True, found="none without a Java")
    missing = "not there: `audit setup --archive` makes it, and a session starts in half the time"
    return Check("class archive", ok=True, found=str(path) if path.is_file() else missing)


def _config(environ: Mapping[str, str], root: str | None) -> Iterator[Check]:
    try:
        loaded = config.load({"root": root}, environ=environ)
    except AuditError as error:
        yield Check("configuration", ok=False, found=error.message)
        return
    for field in fields(loaded):
        if field.name != "sources":
            value = getattr(loaded, field.name)
            yield Check(field.name, ok=True, found=str(value), source=loaded.sources[field.name])
