"""`audit import openlineage`: events of other systems onto the same lineage, without a JVM."""

from __future__ import annotations

from pathlib import Path

import click

from audit.cli.answers.tables import opened
from audit.cli.on_record import kept_text, note
from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock


@click.group()
def import_() -> None:
    """Take in what other systems tell."""


@import_.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@root_option
@json_option
def openlineage(tool: Tool, output: Output, files: tuple[Path, ...]) -> None:
    """Take in OpenLineage events of dbt, Airflow, Flink and others.

    A file has one event a line, a list of events, or one event. `audit lineage` shows what they say beside
    Spark's own lineage; `openlineage_namespaces` says which of their namespaces are catalogs of this root, so
    that a table is one node. An event that was taken in before is not taken in again. If one is wrong, none
    of the files is taken in.

    That events were taken in is on record: `logging_history` has an AUDIT_IMPORT.
    """
    from audit.exchange.catalog import places
    from audit.exchange.incoming.tables import require_writable
    from audit.exchange.incoming.take_in import Importing
    from audit.exchange.names import DatasetNames

    tool.require_audit()
    require_writable(tool.root)
    began, clock = SystemClock().now(), SystemClock()
    with opened(tool, whole=False) as source:
        names = DatasetNames.of(tool.config, places(source))
    importing = Importing(tool.root, names, clock, tool.config.user, lambda sql: kept_text(sql, tool.config))
    done = importing.files(files)
    counts = {"read": done.read, "taken_in": done.taken, "edges": done.edges}
    note(tool, output, "AUDIT_IMPORT", {"files": [path.name for path in files], **counts}, began=began)
    output.rows([counts], title="Events")
