"""`audit prove`: the proof that a statement is in the signed log, for whoever has not the tables."""

from __future__ import annotations

import click

from audit.cli.answers.tables import opened
from audit.cli.output import Output, json_option
from audit.cli.standard_output import hand_over
from audit.cli.tool import Tool, root_option
from audit.core.clock import SystemClock
from audit.core.json_text import shown_json


@click.command()
@click.argument("query_id")
@click.option("--key", default="", help="The public key to name in it; default: that of this machine.")
@root_option
@json_option
def prove(tool: Tool, output: Output, query_id: str, key: str) -> None:
    """Print the proof that the statement QUERY_ID was signed as it is in the tables.

    It is JSON, with --json or without: the rows, the way from them to a signed checkpoint, and that. A script
    of forty lines checks it without this project: docs/evidence.md.
    """
    del output  # it has one form
    from audit.core.ids import is_id
    from audit.query.digests.held import held_by
    from audit.query.digests.prove import prove as proof

    if not is_id(query_id):
        raise click.BadParameter("a query id is a UUID, as in query_history", param_hint="QUERY_ID")
    known = held_by(tool.config.spool_home, SystemClock().now(), key).key
    with opened(tool) as source:
        hand_over(shown_json(proof(source, query_id, str(known or ""))))
