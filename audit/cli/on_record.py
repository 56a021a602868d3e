"""What a command does with the audit tables is on record: reading them, too (PCI DSS 10.2.1.3).

In: what was asked for. Out: an event of the logging, which waits in a spool for the next ingest, and the
events that wait there; a line on stderr where they cannot be written or read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from audit.core.guard import attempt

if TYPE_CHECKING:
    from audit.cli.output import Output
    from audit.cli.tool import Tool
    from audit.core.config import Config


Kind = Literal["AUDIT_CHECK", "AUDIT_EXPORT", "AUDIT_IMPORT", "AUDIT_QUERY", "AUDIT_REPORT", "AUDIT_VERIFY"]
_READ = "the tables were read"
_DONE: dict[Kind, str] = {
    "AUDIT_CHECK": "it was checked",
    "AUDIT_EXPORT": _READ,
    "AUDIT_IMPORT": "events were taken in",
    "AUDIT_QUERY": _READ,
    "AUDIT_REPORT": _READ,
    "AUDIT_VERIFY": "it was verified",
}


def note(
    tool: Tool, output: Output, kind: Kind, details: Mapping[str, Any], *, began: int | None = None
) -> None:
    """Record what a command did. Its answer does not depend on it: who reads may have no right to write.

    Args:
        tool: of the command.
        output: gets the line.
        kind: by which command.
        details: what was asked for, and what was found.
        began: UTC microseconds; None: now.
    """
    attempt(
        lambda: tool.note(kind, kind.lower().replace("_", " "), details, began=began),
        lambda error: output.progress(f"that {_DONE[kind]} is not on record: {error}"),
    )


def waiting(tool: Tool, output: Output) -> list[dict[str, Any]]:
    """The events that wait: rows of query_history. An answer without them is better than none.

    Args:
        tool: of the command.
        output: gets the line.
    """
    from audit.spool import waiting_events
    from audit.spool.home import is_home_of

    def left_out(error: Exception) -> list[dict[str, Any]]:
        output.progress(f"what waits in the spools is left out: {error}")
        return []

    home = tool.config.spool_home
    return attempt(lambda: waiting_events(home) if is_home_of(tool.config) else [], left_out)


def kept_text(text: str, config: Config) -> str:
    """A query as it may be on record: without secrets, as statements are.

    Args:
        text: a query in Spark's SQL.
        config: says what is secret.

    >>> from audit.core.config import load
    >>> kept_text("SELECT 'x'", load({"root": "/data/audit", "redact": "literals"}))
    "SELECT '*********(redacted)'"
    """
    from lineage.sql.redaction.rules import RedactionRules
    from lineage.sql.redaction.sql_text import redact_sql

    parts = (re.compile(config.redact_pattern),) if config.redact_pattern else ()
    return redact_sql(text, RedactionRules(parts=parts, literals=config.redact == "literals")).text
