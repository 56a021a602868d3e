"""Names of objects: split, quote and qualify them. The only place that does.

In: names as people write them. Out: name parts, and names as SQL or a record writes them. Knows no catalog.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lineage.errors import BadNameError

SESSION_CATALOG = "spark_catalog"
"""Spark's name for the built-in catalog of a session."""

SCHEMA_NOUNS = ("SCHEMA", "DATABASE", "NAMESPACE")
"""The words that Spark takes for a schema (SqlBaseParser.g4, `namespace`), the preferred one first."""

SCHEMAS_NOUNS = ("SCHEMAS", "DATABASES", "NAMESPACES")
"""The same in the plural, as in SHOW SCHEMAS."""

# Inside back-ticks a back-tick is doubled, and blanks may stand around the dots, as in Spark's grammar.
_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^.`\s][^.`]*?))\s*(?:\.|$)")
_LENIENT_PART = re.compile(r"`((?:[^`]|``)*)`|([^.`]+)")
_SCHEMA_AND_NAME = 2


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name that a user wrote; back-ticks protect dots.

    >>> split_name("s.`a.b`")
    ('s', 'a.b')

    Raises:
        BadNameError: the text is no name.
    """
    parts: list[str] = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None:
            raise BadNameError(name)
        quoted, plain = match.groups()
        parts.append(_unquote(quoted) if quoted is not None else plain)
        at = match.end()
    if not parts or name.rstrip().endswith("."):
        raise BadNameError(name)
    return tuple(parts)


def split_recorded(name: str) -> tuple[str, ...]:
    """The parts of a recorded name. It never fails, since the name of a location has any form.

    >>> split_recorded("a.`b.c`"), split_recorded("/data/x.csv"), split_recorded("a..b")
    (('a', 'b.c'), ('/data/x', 'csv'), ('a', 'b'))
    """
    if "`" not in name:
        return tuple([part.strip() or part for part in name.split(".") if part])
    return tuple(
        [
            (plain.strip() or plain) if plain else _unquote(quoted)
            for quoted, plain in _LENIENT_PART.findall(name)
        ]
    )


def quote_name(parts: Sequence[str]) -> str:
    """A fully qualified name as records write it: a part is quoted only if it holds a dot or a back-tick.

    >>> quote_name(("spark_catalog", "s", "a.b"))
    'spark_catalog.s.`a.b`'
    """
    # A recorded name is compared and shown, and is no SQL: a part with a blank needs no back-ticks.
    return ".".join([_quote(part) if "." in part or "`" in part else part for part in parts])


def sql_name(parts: Sequence[str]) -> str:
    """A name for use in SQL: every part is quoted.

    >>> sql_name(("s", "a`b"))
    '`s`.`a``b`'
    """
    return ".".join([_quote(part) for part in parts])


def delta_path(location: str) -> str:
    """A Delta table by its location, for use in SQL.

    >>> delta_path("/data/t")
    'delta.`/data/t`'
    """
    return f"delta.{_quote(location)}"


def sql_text(value: str) -> str:
    r"""A text as a literal of Spark's SQL.

    >>> print(sql_text("it's"))
    'it\'s'
    """
    # Spark reads a backslash as an escape unless spark.sql.parser.escapedStringLiterals is set (4.2).
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def qualify(parts: Sequence[str], current: tuple[str, str]) -> tuple[str, ...]:
    """Complete a one- or two-part name with the current catalog and schema, as Spark does.

    >>> qualify(("t",), ("spark_catalog", "s"))
    ('spark_catalog', 's', 't')
    """
    if len(parts) == 1:
        return (*current, parts[0])
    if len(parts) == _SCHEMA_AND_NAME:
        return (current[0], *parts)
    return tuple(parts)


def _quote(part: str) -> str:
    return "`" + part.replace("`", "``") + "`"


def _unquote(part: str) -> str:
    return part.replace("``", "`")
