"""What a session's settings say of its statements: where they run, what they are called, what they are for.

In: a SparkSession. Out: its current catalog and schema, query tag and purpose, read once until a statement or
`spark.conf` may have changed them.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from audit.core.identity import Tagging
from audit.spark import sessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "audit."
QUERY_TAG, PURPOSE = f"{PREFIX}query_tag", f"{PREFIX}purpose"
_NUMBERS = count(1)


class Changes:
    """How often `spark.conf` has changed a setting of the audit's, in any session of this process."""

    number = 0

    @classmethod
    def note(cls, key: object) -> None:
        """A setting has been changed."""
        if isinstance(key, str) and key.startswith(PREFIX):
            cls.number = next(_NUMBERS)


class SessionSettings:
    """The settings of one session.

    Args:
        spark: the session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._current: tuple[str, str] | None = None
        self._tagging: Tagging | None = None
        self._seen = Changes.number

    def current_schema(self) -> tuple[str, str]:
        """The current catalog and schema."""
        if self._current is None:
            self._current = sessions.current_schema(self._spark)
        return self._current

    def tagging(self) -> Tagging:
        """The query tag and the purpose that `SET` has given."""
        if self._tagging is None or self._seen != Changes.number:
            self._seen = Changes.number
            said = self._spark.conf
            self._tagging = Tagging(_text(said.get(QUERY_TAG, "")), _text(said.get(PURPOSE, "")))
        return self._tagging

    def forget(self) -> None:
        """A statement may have changed them."""
        self._current = self._tagging = None


def _text(value: str | None) -> str | None:
    """A value of SET, which Spark keeps with its quotes.

    >>> _text("'nightly load'"), _text("nightly"), _text("")
    ('nightly load', 'nightly', None)
    """
    if value and len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1]
    return value or None
