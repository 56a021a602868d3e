"""`audit purge`: delete data past retention and Fail-safe."""

from __future__ import annotations

import click

from audit.cli.output import Output, json_option
from audit.cli.tool import Tool, root_option


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@root_option
@json_option
def purge(tool: Tool, output: Output, dry_run: bool) -> None:  # noqa: FBT001 - click's way
    """Delete data past its retention and Fail-safe.

    Data that a clone or a running statement needs stays.

    If it is killed, run it again.
    """
    from rich.console import Console
    from rich.progress import Progress

    # On stderr: stdout has the answer alone.
    with tool.services() as services, Progress(console=Console(stderr=True), transient=True) as bar:
        # The total is not known yet: rich draws a bar that moves to and fro.
        task = bar.add_task("Looking" if dry_run else "Purging", total=None)

        def progress(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        found = list(services.time_travel.maintenance.purge(tool.actor(), dry=dry_run, progress=progress))
    total, files = sum(one.bytes for one in found), sum(one.files for one in found)
    if found or output.as_json:
        rows = [
            {
                "object": one.object_name,
                "what": one.kind,
                "files": one.files,
                "bytes": one.bytes,
                "kept for clones": one.kept_for_clones,
            }
            for one in found
        ]
        output.rows(rows, title="Would be deleted" if dry_run else "Deleted")
    freed = f"{total:,} bytes in {files:,} file(s), {len(found):,} object(s)"
    verb = "Would free" if dry_run else "Freed"
    output.progress(f"{verb} {freed}" if found else "Nothing is past its retention and Fail-safe")
