"""`audit digest export | anchor | key | rotate`: the signed log of what the audit tables hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from audit.cli.answers.tables import opened
from audit.cli.output import Output, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock
from audit.core.errors import TableMissingError

if TYPE_CHECKING:
    from audit.evidence.entries import Entry


@click.group()
def digest() -> None:
    """Hand on the signed log of what the audit tables hold, and its key."""


@digest.command()
@root_option
@json_option
def export(tool: Tool, output: Output) -> None:
    """Print the newest checkpoint: the name of the log, how many entries it has, their root, a signature.

    Whoever holds it finds a log that is cut off or exchanged later: `audit verify --against FILE`.
    """
    newest = _newest(tool)
    if output.as_json:
        output.rows([{"entries": newest.sequence + 1, "checkpoint": newest.checkpoint}])
    else:
        hand_over(newest.checkpoint)


@digest.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@root_option
@json_option
def anchor(tool: Tool, output: Output, file: Path) -> None:
    """Append the newest checkpoint to FILE, in a place that whoever writes the tables cannot change.

    A git repository, a bucket with Object Lock, another machine. First it is compared with those in FILE.

    Exit code 1 if the log is not the one that FILE knows: then nothing is appended.
    """
    from audit.query.digests.check_log import check_log
    from audit.query.digests.check_tables import entries_of
    from audit.query.digests.held import anchors_in, held_by

    held = held_by(tool.config.spool_home, SystemClock().now())
    before = anchors_in(file) if file.exists() and file.stat().st_size else []
    with opened(tool, whole=False) as source:
        entries = entries_of(source)
    if not entries:
        raise _nothing(tool)
    found = check_log(entries, held.key, [*before, *held.anchors])
    if found.faults:
        output.rows([{"fault": fault} for fault in found.faults], title=f"{file} was left as it is")
        raise click.exceptions.Exit(1)
    note = entries[-1].checkpoint
    if not any(one.note == note for one in before):
        with file.open("a", encoding="utf-8") as opened_file:
            opened_file.write(note + "\n")
    output.rows([{"entries": len(entries), "checkpoints": len({*(one.note for one in before), note})}])


@digest.command()
@root_option
@json_option
def key(tool: Tool, output: Output) -> None:
    """Print the public key of this machine's signatures, to hand on to whoever verifies."""
    from audit.evidence.keys import verifier_of

    tool.require_audit()
    found = str(verifier_of(tool.config.spool_home))
    if output.as_json:
        output.rows([{"key": found}])
    else:
        hand_over(f"{found}\n")


@digest.command()
@root_option
@json_option
def rotate(tool: Tool, output: Output) -> None:
    """Sign with a new key from now on; the old one vouches for it in the log.

    Hand the new key on, as you did the old one.
    """
    from audit.evidence.digest_log import DigestLog
    from audit.store.commit_lock import commit_lock

    with tool.spark() as spark, commit_lock(spark, tool.root):
        new = DigestLog(spark, tool.root, tool.config.spool_home, SystemClock()).rotate()
    output.rows([{"key": str(new)}])


def _newest(tool: Tool) -> Entry:
    from audit.query.digests.check_tables import entries_of

    with opened(tool, whole=False) as source:
        entries = entries_of(source)
    if not entries:
        raise _nothing(tool)
    return entries[-1]


def _nothing(tool: Tool) -> TableMissingError:
    return TableMissingError(
        f"nothing under {tool.root} is signed yet", "it comes with the next statements: run `audit ingest`"
    )
