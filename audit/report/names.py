"""Users under pseudonyms, for a report that may not name them.

In: the names on record, and a key. Out: rows and texts without names. A name has the same pseudonym in all
reports of a root, and nobody without the key finds the name by trying. GDPR, article 15 (CJEU C-579/21): the
person asked about learns dates and purposes of each consultation, and normally not who it was.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from audit.report.binding import bound

if TYPE_CHECKING:
    from audit.query.tables import Tables

_PEOPLE = frozenset({"user_name", "os_user", "users", "grantee_user", "last_user", "table_owner"})
"""Columns that name people."""
_LEFT_OUT = frozenset(
    {"query_text", "message", "details", "action", "client_address", "client_host", "client_program",
     "session_id", "application_id", "analysis_reason"}
)  # fmt: skip
"""Columns whose text may name people, or lead to them."""
LEFT_OUT = "(left out)"
_NAMES = """
SELECT user_name FROM account_usage.query_history WHERE user_name IS NOT NULL AND query_type <> 'GAP'
UNION SELECT os_user FROM account_usage.query_history WHERE os_user IS NOT NULL
"""
_LETTERS = 8


@dataclass(frozen=True, slots=True)
class Pseudonyms:
    """The pseudonyms of a root.

    Attributes:
        key: of the root.
        known: all names on record, and those of whoever makes the report.
    """

    key: bytes
    known: frozenset[str]

    @classmethod
    def of(cls, tables: Tables, key: bytes, also: Sequence[str] = ()) -> Pseudonyms:
        """Those of all users on record.

        Args:
            tables: of the root.
            key: of the root.
            also: further names.
        """
        found = tables.ask(bound(_NAMES, {}, tables.schema), {}).rows
        return cls(key, frozenset({*(name for (name,) in found), *also}))

    def pseudonym(self, name: str) -> str:
        """The pseudonym of a name.

        >>> Pseudonyms(b"key", frozenset()).pseudonym("ann")
        'user-f1b4afb5'
        """
        made = hmac.new(self.key, f"report:{name}".encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"user-{made.hexdigest()[:_LETTERS]}"

    def text(self, text: str) -> str:
        """A text with pseudonyms in the place of the names that stand in it as words.

        >>> names = Pseudonyms(b"key", frozenset({"ann"}))
        >>> names.text("/home/ann/annual") == f"/home/{names.pseudonym('ann')}/annual"
        True
        """
        return _words(self.known).sub(lambda found: self.pseudonym(found[0]), text)

    def row(self, columns: Sequence[str], row: Sequence[Any]) -> tuple[Any, ...]:
        """A row of an answer without names."""
        return tuple(self._value(column, value) for column, value in zip(columns, row, strict=True))

    def _value(self, column: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self._value(column, one) for one in value]
        if not isinstance(value, str) or not value:
            return value
        if column in _LEFT_OUT:
            return LEFT_OUT
        if column == "admins":  # of a configuration: several names in one text
            return ", ".join(self.pseudonym(one.strip()) for one in value.split(","))
        return self.pseudonym(value) if column in _PEOPLE else self.text(value)


@lru_cache(maxsize=1)
def _words(names: frozenset[str]) -> re.Pattern[str]:
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    # Without a name it finds nothing.
    return re.compile(rf"(?<!\w)(?:{listed})(?!\w)" if listed else r"(?!)")
