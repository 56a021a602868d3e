"""That somebody has read the audit tables is on record, too (PCI DSS 10.2.1.3).

In: what a command is about to hand over. Out: an event of the logging, before it is handed over; a line on
stderr where it cannot be written.
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


def note_reading(
    tool: Tool,
    output: Output,
    kind: Literal["AUDIT_QUERY", "AUDIT_REPORT"],
    details: Mapping[str, Any],
    *,
    began: int | None = None,
) -> None:
    """Record that the tables were read.

    Args:
        tool: of the command.
        output: gets the line.
        kind: by which command.
        details: what was asked for.
        began: UTC microseconds; None: now.
    """
    action = {"AUDIT_QUERY": "audit query", "AUDIT_REPORT": "audit report"}[kind]
    # Who may read may have no right to write: the answer does not depend on it.
    attempt(
        lambda: tool.note(kind, action, details, began=began),
        lambda error: output.progress(f"that the tables were read is not on record: {error}"),
    )


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
