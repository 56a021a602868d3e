"""Takes secrets out of what goes on record: before a START is put on disk, and in each record.

In: what was said and found about a statement. Out: the same without secrets. The analysis works on the true
text, in memory alone; after a crash it works on the redacted one, which parses alike.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from audit.core.guard import attempt, place_of
from audit.record.access_record import build_row
from lineage.sql.fingerprint import parameterized_hash, text_hash
from lineage.sql.parameters import with_literals
from lineage.sql.redaction.redacted import RedactedSql
from lineage.sql.redaction.rules import PLACEHOLDER
from lineage.sql.redaction.sql_text import redact_sql

if TYPE_CHECKING:
    import lineage
    from audit.record.access_record import Ended, Finding, Started
    from lineage.sql.parameters import Arguments
    from lineage.sql.redaction.rules import RedactionRules

_LOG = logging.getLogger("audit")


class Redaction:
    """What one root keeps of texts.

    Args:
        rules: what is secret.
        hash_key: gives the key of hashes over redacted texts, which is no secret of the tables' readers.
    """

    def __init__(self, rules: RedactionRules, hash_key: Callable[[], bytes]) -> None:
        self.rules = rules
        self._hash_key = hash_key

    @cached_property
    def key(self) -> bytes:
        """The key of `query_hash`."""
        return self._hash_key()

    def text(self, text: str) -> str:
        """A statement's text, or a call's."""
        return self._of(text).text

    def message(self, text: str) -> str:
        """A message about no known statement."""
        return RedactedSql("", "").message(text, self.rules)

    def started(self, started: Started) -> Started:
        """A start without secrets; with its hashes where nobody can make them later, the text being redacted.

        `query_hash` is of the true text, under a key: without one, whoever reads the table could try out
        what has been hidden. `query_parameterized_hash` is of the redacted text.
        """
        found = self._of(started.query_text)
        hide = self.rules.without_forms
        # Thrift's server and spark-sql make a statement's text the description of its jobs.
        started = replace(
            started,
            action=self.text(started.action),
            objects_tried=tuple(map(hide, started.objects_tried)),
            query_tag=None if started.query_tag is None else hide(started.query_tag),
            purpose=None if started.purpose is None else hide(started.purpose),
        )
        if found.text == found.original:
            return started
        if not started.is_sql or started.query_hash is not None:
            return replace(started, query_text=found.text)
        return replace(
            started,
            query_text=found.text,
            query_hash=self._keyed(text_hash(found.original)),
            query_parameterized_hash=parameterized_hash(found.text),
        )

    def ended(self, ended: Ended, text: str, arguments: Arguments | None = None) -> Ended:
        """An end without secrets, of a statement whose true text is known: its error may quote it.

        Of `arguments`, the values of its parameters, those are secret that would be in their places, or that
        have a secret name.
        """
        message = ended.error_message
        if message is None:
            return ended
        texts = (with_literals(text, arguments), text) if arguments else (text,)
        for one in texts:
            message = self._of(one).message(message, self.rules)
        named = arguments.items() if isinstance(arguments, Mapping) else ()
        secret = frozenset(str(value) for name, value in named if self.rules.is_secret(name)) - {""}
        message = RedactedSql("", "", secret).message(message, self.rules)
        return replace(ended, error_message=message)

    def row(
        self,
        started: Started,
        ended: Ended,
        finding: Finding | None,
        statement: lineage.Statement | None = None,
        text: str | None = None,
    ) -> dict[str, Any]:
        """The rows of a statement, see `build_row`.

        Args:
            started: as it was, or redacted already.
            ended: the same.
            finding: what the analysis of the true text has found.
            statement: the text as parsed, where the caller has it.
            text: the true text, where `started` is redacted and there is no statement.
        """
        original = statement.text if statement is not None else text or started.query_text
        found = self._of(original)
        ended = self.ended(ended, original)
        return build_row(self.started(started), ended, finding, statement, _Secrets(found, self.rules))

    def _of(self, text: str) -> RedactedSql:
        """The redacted text; none of it is kept where the redaction itself fails, and the statement runs."""

        def failed(error: Exception) -> RedactedSql:
            _LOG.warning("a text could not be redacted, so nothing of it is on record: %s", place_of(error))
            return RedactedSql(text, PLACEHOLDER, frozenset({text} - {""}))

        return attempt(lambda: redact_sql(text, self.rules), failed)

    def _keyed(self, digest: str) -> str:
        return hashlib.blake2b(digest.encode(), digest_size=16, key=self.key).hexdigest()


@dataclass(frozen=True, slots=True)
class _Secrets:
    """Cleans the parts of a statement's record."""

    found: RedactedSql
    rules: RedactionRules

    def reason(self, text: str) -> str:
        """Why an analysis is not full: it may quote the text."""
        return self.found.message(text, self.rules)

    def properties(self, found: Any) -> Any:
        """The properties of a DDL statement: values of secret options, and whatever the text hides."""
        if not isinstance(found, dict):
            return self.found.values(found, self.rules)
        return {key: self._property(key, value) for key, value in found.items()}

    def _property(self, name: str, found: Any) -> Any:
        if name == "properties" and isinstance(found, dict):
            return {key: self._option(key, value) for key, value in found.items()}
        if name == "columns" and isinstance(found, dict):  # by their names, which no literal is
            return {key: self.found.values(value, self.rules) for key, value in found.items()}
        return self.found.values(found, self.rules)

    def _option(self, key: str, value: Any) -> Any:
        told = value.get("value") if isinstance(value, dict) else value
        if isinstance(value, dict) and self.rules.is_secret_option(key, str(told)):
            return {**value, "value": PLACEHOLDER}
        return self.found.values(value, self.rules)

    def names(self, found: Any) -> Any:
        """Names of objects: a path may hold a password, as in `wasb://user:password@host`."""
        if isinstance(found, dict):
            return {key: self.names(value) for key, value in found.items()}
        if isinstance(found, list):
            return [self.names(one) for one in found]
        if isinstance(found, str) and ("@" in found or self.rules.parts):
            return self.rules.without_forms(found)
        return found
