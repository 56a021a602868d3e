"""A text without its secrets, and what they were, so that an error which quotes them loses them as well."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage.sql.redaction.any_text import redact_text
from lineage.sql.redaction.rules import PLACEHOLDER

if TYPE_CHECKING:
    from lineage.sql.redaction.rules import RedactionRules

_SHORT = 4
_QUOTED = re.compile(r"'[^'\n]*'")


@dataclass(frozen=True, slots=True)
class RedactedSql:
    """What a record may keep of a statement's text.

    Attributes:
        original: the text as it ran.
        text: without secrets; it parses where the original does.
        hidden: the secrets.
    """

    original: str
    text: str
    hidden: frozenset[str] = frozenset()

    def message(self, text: str, rules: RedactionRules) -> str:
        """An error's message, or another text about the statement, which may quote it."""
        if self.text != self.original:
            text = text.replace(self.original, self.text)
        # The longest first: one secret may be a part of another.
        for secret in sorted(self.hidden, key=len, reverse=True):
            text = _without(secret, text)
        if rules.literals:
            # Spark quotes values of rows so: [CAST_INVALID_INPUT] The value 'x' of the type "STRING" …
            text = _QUOTED.sub(f"'{PLACEHOLDER}'", text)
        return redact_text(text, rules)

    def values(self, found: Any, rules: RedactionRules) -> Any:
        """JSON about the statement, with each secret in a text, a number or a list replaced."""
        if isinstance(found, dict):
            return {key: self.values(value, rules) for key, value in found.items()}
        if isinstance(found, list):
            return [self.values(one, rules) for one in found]
        if isinstance(found, str):
            return self._value(found, rules)
        return 0 if not isinstance(found, bool) and str(found) in self.hidden else found

    def _value(self, found: str, rules: RedactionRules) -> str:
        if found in self.hidden:
            return PLACEHOLDER
        for secret in self.hidden:
            if len(secret) >= _SHORT:
                found = found.replace(secret, PLACEHOLDER)
        return redact_text(found, rules)


def _without(secret: str, text: str) -> str:
    if len(secret) >= _SHORT:
        return text.replace(secret, PLACEHOLDER)
    # A short one is a part of many words: it counts as a word of its own. A digit tells nothing.
    if not secret.strip() or (secret.isdigit() and len(secret) == 1):
        return text
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: PLACEHOLDER, text)
