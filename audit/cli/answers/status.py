"""`audit status`: what waits in the spools, what the tables hold, what was set aside or lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from audit.cli.answers.tables import opened
from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from audit.cli.output import Row
    from audit.query.answer import Source


@click.command()
@root_option
@json_option
@click.pass_context
def status(context: click.Context, tool: Tool, output: Output) -> None:
    """Show spools, quarantine, audit tables, how statements ended, and how many were analysed in full.

    Times are UTC. DuckDB answers from the tables' files: no Spark starts, but for a root on a store that
    delta-rs does not know.

    Exit code 1 if a file is in quarantine.
    """
    from audit.spool.failure import spool_errors

    tool.require_audit()
    home = tool.config.spool_home
    with spool_errors(home / "spool"):
        rows = [*_spools(home), *_quarantine(home), *_receiver(tool)]
    with opened(tool, whole=False) as source:
        for part in (_tables, _statements, _analyses, _coverage):
            rows += part(source)
    _show(output, rows, tool.root)
    context.exit(1 if any(row["kind"] == "quarantine" for row in rows) else 0)


_TITLES = {
    "spool": "Spools",
    "quarantine": "Quarantine",
    "receiver": "Receiver of OpenLineage events",
    "table": "Audit tables under {root}",
    "statements": "How statements ended",
    "analysis": "How records were analysed",
    "coverage": "Successful statements that were analysed in full",
}


def _show(output: Output, rows: list[Row], root: str) -> None:
    """As JSON all rows with all keys; for people a table for each kind, without what it never has."""
    if output.as_json:
        output.rows(rows)
        return
    # To the second, so that the tables are narrow.
    rows = [{**row, "last_record": (row["last_record"] or "")[:19].replace("T", " ")} for row in rows]
    for kind, title in _TITLES.items():
        found = [row for row in rows if row["kind"] == kind]
        said = {key for row in found for key, value in row.items() if value not in (None, "")} - {"kind"}
        if found:
            shown = [{key: row[key] for key in row if key in said} for row in found]
            output.rows(shown, title=title.format(root=root))


def _row(kind: str, name: str, state: str, **more: object) -> Row:
    # `Output.rows` takes its headings from the first row, so all rows have the same keys.
    keys = ("waiting", "bytes", "rows", "days", "last_record", "percent")
    return {"kind": kind, "name": name, "state": state, **{key: more.get(key) for key in keys}}


def _spools(home: Path) -> list[Row]:
    from audit.spool import find_spools

    rows = []
    for spool in find_spools(home):
        files = [path for name in ("journal", "sealed") for path in (spool.path / name).glob("*.*")]
        size = sum(map(_size, files))
        # A driver that has ended well leaves no open segment: what it has sealed waits for an ingest.
        state = "alive" if spool.alive else "died" if spool.journal else "ended"
        rows.append(_row("spool", spool.driver_id, state, waiting=spool.sealed, bytes=size))
    return rows


def _quarantine(home: Path) -> list[Row]:
    # Files of retired drivers lie under the root, those of others in their spools (`audit.spool.cleanup`).
    found = [*home.glob("quarantine/*/*"), *home.glob("spool/*/quarantine/*")]
    return [
        _row(
            "quarantine",
            str(path),
            "salvaged" if path.suffix == ".salvaged" else "damaged",
            bytes=_size(path),
        )
        for path in sorted(found)
    ]


def _receiver(tool: Tool) -> list[Row]:
    """How far the receiver of `openlineage_url` is; nothing where there is none."""
    from audit.exchange.live.state import receiver_state

    if not tool.config.openlineage_url:
        return []
    found = receiver_state(tool.config)
    return [_row("receiver", tool.config.openlineage_url, found.said, waiting=found.waiting, rows=found.sent)]


def _size(path: Path) -> int:
    """Bytes of a file; none if it has gone meanwhile: an ingest takes them away at any time."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _tables(source: Source) -> list[Row]:
    from audit.query.state import tables

    return [
        _row("table", name, "not there")
        if found is None
        else _row(
            "table", name, "there", bytes=found.size, rows=found.rows, days=found.days,
            last_record=_iso(found.newest),
        )
        for name, found in tables(source).items()
    ]  # fmt: skip


def _statements(source: Source) -> list[Row]:
    from audit.query.state import statements

    return [
        _row("statements", one.name, one.reason or "", rows=one.number, last_record=_iso(one.newest))
        for one in statements(source)
    ]


def _analyses(source: Source) -> list[Row]:
    from audit.query.state import analyses

    return [_row("analysis", one.name, one.reason or "", rows=one.number) for one in analyses(source)]


def _coverage(source: Source) -> list[Row]:
    from audit.query.coverage import coverage
    from audit.store.tables import HISTORY_TABLES

    if not all(source.types(table.name) for table in HISTORY_TABLES):
        return []
    found = coverage(source)
    return [_row("coverage", "full", "", rows=found["succeeded"], percent=found["full_percent"])]


def _iso(moment: datetime | None) -> str | None:
    """A time of the tables, which is UTC, with its offset."""
    return None if moment is None else f"{moment.isoformat(timespec='microseconds')}Z"
