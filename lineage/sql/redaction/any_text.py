"""Redacts text that is not SQL: an error's message, a comment, what a literal holds, a connection string.

In: text. Out: the same, with a placeholder for what is secret. Values are found behind their keys, as in
`password=x`, `"token": "x"` or `secret 'x'`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lineage.sql.redaction.rules import PLACEHOLDER

if TYPE_CHECKING:
    from lineage.sql.redaction.rules import RedactionRules

_KEY = re.compile(r"[\w.-]{2,}")
# A closing quote of the key, then = or => or a colon; or a blank and a quoted value.
_BETWEEN = re.compile(r"\\*[\"'`\]]?\s*(?:=>|==?|:(?!//)|(?=\\*['\"]))\s*")
_VALUE = re.compile(r"(\\*')(?:''|\\.|[^'\\])*|(\\*\")(?:\\.|[^\"\\])*|[^\s&;,'\"(){}\[\]<>]+")


def redact_text(text: str, rules: RedactionRules, hidden: set[str] | None = None) -> str:
    """Any text without its secrets, which `hidden` takes.

    >>> from lineage.sql.redaction.rules import RedactionRules
    >>> redact_text("jdbc:x?user=ann&password=hunter2&ssl=true", RedactionRules())
    'jdbc:x?user=ann&password=*********(redacted)&ssl=true'
    """
    if not rules.may_hold_secrets(text):
        return text
    # First: behind `Authorization: Bearer` there are two words.
    text = rules.without_forms(text, hidden)
    pieces, done = [], 0
    for key in _KEY.finditer(text):
        if key.start() < done or not rules.is_secret(key[0]):
            continue
        between = _BETWEEN.match(text, key.end())
        value = between and _VALUE.match(text, between.end())
        if value and not text.startswith(PLACEHOLDER, value.end(1) if value[1] else value.start()):
            quote = value[1] or value[2] or ""
            pieces += [text[done : value.start()], quote, PLACEHOLDER]
            done = value.end()
            if hidden is not None:
                hidden.add(value[0][len(quote) :])
    return "".join([*pieces, text[done:]])
