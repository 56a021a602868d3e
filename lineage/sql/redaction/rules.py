"""What is secret: Spark's patterns, ours, and a pattern of the user's.

In: regular expressions. Out: `RedactionRules`, which both redactors (SQL, other text) ask.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

PLACEHOLDER = "*********(redacted)"
"""What stands for a secret: Spark's own word (`Utils.REDACTION_REPLACEMENT_TEXT`, 4.2)."""

SPARK_KEYS = "(?i)secret|password|token|access[.]?key"
"""Spark's default of spark.redaction.regex (4.2)."""

SPARK_OPTIONS = "(?i)url"
"""Spark's default of spark.sql.redaction.options.regex (4.2)."""


class Pattern(Protocol):
    """A regular expression, of Python's or of Java's."""

    def search(self, text: str, /) -> object:
        """Something true where it matches a part of the text."""
        ...

    def sub(self, by: Callable[[object], str], text: str, /) -> str:
        """The text with another one in the place of each match."""
        ...


# `password=`, `passwd`, `pwd`, fs.azure.account.key.…, AWS_KEY_ID, apiKey, fs.azure.sas.…, IDENTIFIED BY.
_KEYS = re.compile(
    r"(?i)passw|passphrase|secret|token|credential|(?<![a-z])pwd|(?<![a-z])sas(?![a-z])|signature|identified"
    r"|authorization|(?:access|account|api|auth|encryption|master|private|shared|signing|storage)[._-]?key"
    r"|aws[._-]?key[._-]?id"
)
_USER_AND_PASSWORD = re.compile(
    # scheme://user:password@host, and Oracle's jdbc:oracle:thin:user/password@host
    r"(?i)\b((?:[a-z][a-z0-9+.-]*://[^\s/:@'\"`]*:)|(?:jdbc:oracle:[a-z0-9]+:[^\s/@'\"`]+/))([^\s/@'\"`]+)(?=@)"
)
# Secrets that are known by their form: keys of AWS and Google, tokens of GitHub, GitLab, Slack, Databricks,
# JSON web tokens, what a header carries, private keys.
_FORMS = re.compile(
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{35}|\bgh[pousr]_\w{36,}|\bgithub_pat_\w{22,}|\bglpat-[\w-]{20,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bdapi[0-9a-f]{32}\b|\bsk-[\w-]{20,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|\b[Bb](?:earer|asic)\s+[\w.~+/=-]{8,}|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?"
    r"(?:-----END[A-Z -]*-----|\Z)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class RedactionRules:
    """What is secret in a text.

    Attributes:
        keys: spark.redaction.regex; the value of such a key is secret.
        options: spark.sql.redaction.options.regex; so is the value of such an option.
        parts: spark.sql.redaction.string.regex and the user's own; what they match is secret wherever it is.
        literals: each literal is secret.
    """

    keys: Pattern = re.compile(SPARK_KEYS)
    options: Pattern = re.compile(SPARK_OPTIONS)
    parts: tuple[Pattern, ...] = ()
    literals: bool = False

    def is_secret(self, key: str) -> bool:
        """Whether what belongs to a name is secret, wherever it stands.

        >>> RedactionRules().is_secret("fs.s3a.secret.key"), RedactionRules().is_secret("path")
        (True, False)
        """
        return bool(_KEYS.search(key) or self.keys.search(key))

    def is_secret_option(self, key: str, value: str) -> bool:
        """Whether an option's value is secret, as Spark decides it: by its name or by itself.

        >>> RedactionRules().is_secret_option("url", "jdbc:h2:mem")
        True
        """
        asked = (self.keys, self.options)
        return self.is_secret(key) or any(one.search(key) or one.search(value) for one in asked)

    def may_hold_secrets(self, text: str) -> bool:
        """False for a text that both redactors would leave as it is: a quick look."""
        asked = (_KEYS, self.keys, self.options, _USER_AND_PASSWORD, _FORMS, *self.parts)
        return self.literals or any(one.search(text) for one in asked)

    def without_forms(self, text: str, hidden: set[str] | None = None) -> str:
        """The text without what is secret by its form, whatever stands around it; `hidden` takes that.

        >>> RedactionRules().without_forms("s3a://AKIAIOSFODNN7EXAMPLE:wJal@bucket/a")
        's3a://*********(redacted):*********(redacted)@bucket/a'
        """
        taken: set[str] = set() if hidden is None else hidden
        taken |= {found[2] for found in _USER_AND_PASSWORD.finditer(text)} - {PLACEHOLDER}
        text = _USER_AND_PASSWORD.sub(lambda found: found[1] + PLACEHOLDER, text)
        taken |= {found[0] for found in _FORMS.finditer(text)}
        text = _FORMS.sub(lambda _: PLACEHOLDER, text)
        for part in self.parts:
            text = part.sub(lambda _: PLACEHOLDER, text)
        return text
