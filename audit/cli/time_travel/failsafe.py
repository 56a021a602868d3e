"""`audit failsafe list | restore`: lists and restores data in Fail-safe, for the administrator."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from audit.cli.output import Output, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option


@click.group()
def failsafe() -> None:
    """List and restore data in Fail-safe."""


# The function is not called `list`, which is a built-in of Python.
@failsafe.command("list")
@root_option
@json_option
def list_(tool: Tool, output: Output) -> None:
    """List dropped objects, and tables with older versions, in Fail-safe."""
    with tool.services() as services:
        found = services.time_travel.maintenance.recoverable(tool.actor())
    if not found and not output.as_json:
        output.progress("Nothing is in Fail-safe")
        return
    output.rows(
        [
            {
                "object": one.object_name,
                "what": one.kind,
                "dropped": _shown(one.dropped),
                "since": _shown(one.since),
                "until": _shown(one.until),
                "bytes": one.bytes,
            }
            for one in found
        ],
        title="In Fail-safe (UTC)",
    )


@failsafe.command()
@click.argument("name")
@click.option("--as", "new", metavar="NAME", help="Another name for what comes back: schema.object.")
@click.option(
    "--at",
    metavar="TIME",
    help="Of a table that is there: its state at this time (UTC), as a new table; needs --as.",
)
@root_option
@json_option
def restore(tool: Tool, output: Output, name: str, new: str | None, at: str | None) -> None:
    """Restore NAME (schema.object, or a schema) from Fail-safe."""
    from lineage.names import split_name

    parts, wanted = split_name(name), split_name(new) if new else None
    if at is not None and wanted is None:
        raise click.UsageError("--at makes a new table: name it with --as")
    moment = None if at is None else _micros(at)
    with tool.services() as services:
        fail_safe = services.time_travel.maintenance.fail_safe(tool.actor())
        if moment is None or wanted is None:
            done = fail_safe.restore(parts, wanted)
        else:
            done = fail_safe.restore_version(parts, moment, wanted)
    if output.as_json:
        output.rows([{"done": done}])
    else:
        hand_over(f"{done}\n")


def _shown(micros: int | None) -> str | None:
    from audit.time_travel.versions.version_lookup import time_text

    return None if micros is None else time_text(micros).removesuffix(" UTC")[:19]


def _micros(text: str) -> int:
    from audit.core.clock import to_micros

    try:
        # Python 3.10 does not take a `Z` at the end.
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is no time, such as 2026-11-20T09:00", param_hint="--at"
        ) from error
    return to_micros(moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc))
