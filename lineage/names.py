"""Names of objects: split, quote, qualify, and number them.

In: names as people write them. Out: name parts, fully qualified names, stable 63-bit ids. Used by
every stage that turns text into objects; knows no catalog.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from lineage.errors import BadNameError

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^.`\s][^.`]*?))\s*(?:\.|$)")


def split_name(name: str) -> tuple[str, ...]:
    """The parts of a dotted name; back-ticks protect dots.

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
        parts.append(quoted.replace("``", "`") if quoted is not None else plain)
        at = match.end()
    if not parts or name.rstrip().endswith("."):
        raise BadNameError(name)
    return tuple(parts)


def quote_name(parts: Sequence[str]) -> str:
    """A fully qualified name; a part is quoted only where it holds a dot or a back-tick.

    >>> quote_name(("spark_catalog", "s", "a.b"))
    'spark_catalog.s.`a.b`'
    """
    return ".".join([f"`{p.replace('`', '``')}`" if "." in p or "`" in p else p for p in parts])


def sql_name(parts: Sequence[str]) -> str:
    """A name as it stands in SQL, whatever is in it.

    >>> sql_name(("s", "a`b"))
    '`s`.`a``b`'
    """
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def sql_text(value: str) -> str:
    r"""A text as a literal of Spark's SQL.

    >>> print(sql_text("it's"))
    'it\'s'
    """
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def qualify(parts: Sequence[str], current: tuple[str, str]) -> tuple[str, ...]:
    """Complete a one- or two-part name with the current catalog and schema, as Spark does.

    >>> qualify(("t",), ("spark_catalog", "s"))
    ('spark_catalog', 's', 't')
    """
    if len(parts) == 1:
        return (*current, parts[0])
    if len(parts) == 2:  # noqa: PLR2004  schema and name
        return (current[0], *parts)
    return tuple(parts)


def stable_id(*parts: str) -> int:
    """A 63-bit integer that depends on nothing but the text of the parts, case folded."""
    text = "\0".join(part.lower() for part in parts)
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
