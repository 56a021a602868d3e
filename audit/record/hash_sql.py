"""The hash of a record as Spark's SQL: the same bytes as `audit.record.record_hash` takes.

In: the columns of a row, with their types. Out: an expression, which Spark and DuckDB work out alike; and one
for Spark alone, which is faster and the same for nearly all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from audit.record.record_hash import EXCLUDED
from lineage.names import sql_name
from lineage.types import element_type, struct_fields

_AS_IT_STANDS = frozenset({"BIGINT", "INT", "SMALLINT", "TINYINT", "BOOLEAN"})
_SHORT = {8: "b", 9: "t", 10: "n", 12: "f", 13: "r"}
_CONTROLS = 0x20


def row_text(columns: Mapping[str, str]) -> str:
    r"""The canonical JSON of a row; control characters in strings stand as they are.

    >>> print(row_text({"b": "int", "a": "boolean", "record_hash": "string"}))
    '{' || concat_ws(',', '"a":' || CAST(`a` AS STRING), '"b":' || CAST(`b` AS STRING)) || '}'

    Args:
        columns: Spark's types by name; those outside the hash are left out.
    """
    return _object(
        [(sql_name([name]), name, kind) for name, kind in columns.items() if name not in EXCLUDED], 0
    )


def text_hash(text: str) -> str:
    r"""The hash of what `row_text` gives.

    >>> print(text_hash("text").partition(" replace")[0])
    sha2(CASE WHEN text RLIKE '\\p{Cc}' THEN

    Args:
        text: the name of a column with that text.
    """
    escaped = text
    for code in range(_CONTROLS):
        escaped = f"replace({escaped}, chr({code}), '{_escape(code)}')"
    # Few texts have one: to look for it costs less than to replace each of 32.
    return f"sha2(CASE WHEN {text} RLIKE '\\\\p{{Cc}}' THEN {escaped} ELSE {text} END, 256)"


def row_json(columns: Mapping[str, str]) -> str:
    """The canonical JSON of a row by Spark's own writer; some control characters are escaped otherwise.

    Of two rows with different contents the texts differ, too.

    >>> print(row_json({"b": "array<string>", "a": "int"}))
    to_json(named_struct('a', `a`, 'b', `b`), map('ignoreNullFields', 'true'))

    Args:
        columns: Spark's types by name; those outside the hash are left out.
    """
    fields = [(sql_name([name]), name, kind) for name, kind in columns.items() if name not in EXCLUDED]
    return f"to_json({_struct(fields, 0)}, map('ignoreNullFields', 'true'))"


def _struct(fields: Sequence[tuple[str, str, str]], depth: int) -> str:
    by_name = sorted(fields, key=lambda one: one[1])
    parts = [f"'{name}', {_ordered(value, kind, depth)}" for value, name, kind in by_name]
    return f"named_struct({', '.join(parts)})"


def _ordered(value: str, kind: str, depth: int) -> str:
    """A value whose structs have their fields in the order of their names."""
    element, fields = element_type(kind), struct_fields(kind)
    if element is not None:
        one = f"e{depth}"
        inner = _ordered(one, element, depth + 1)
        return value if inner == one else f"transform({value}, {one} -> {inner})"
    if fields:
        named = [(f"{value}.{sql_name([name])}", name, inner) for name, inner in fields]
        return f"CASE WHEN {value} IS NOT NULL THEN {_struct(named, depth)} END"
    return _time(value) if kind.upper() == "TIMESTAMP" else value


def _time(value: str) -> str:
    day, time = (f"date_format({value}, '{form}')" for form in ("yyyy-MM-dd", "HH:mm:ss.SSSSSS"))
    return f"{day} || 'T' || {time} || 'Z'"


def _escape(code: int) -> str:
    return f"\\\\{_SHORT[code]}" if code in _SHORT else f"\\\\u{code:04x}"


def _object(fields: Sequence[tuple[str, str, str]], depth: int) -> str:
    by_name = sorted(fields, key=lambda one: one[1])
    # NULL beside `||` is NULL, and concat_ws leaves it out: a missing field and a null are the same.
    parts = [f"'\"{name}\":' || {_text(value, kind, depth)}" for value, name, kind in by_name]
    return f"'{{' || concat_ws(',', {', '.join(parts)}) || '}}'"


def _text(value: str, kind: str, depth: int) -> str:
    element, fields = element_type(kind), struct_fields(kind)
    if element is not None:
        inner = _text(f"e{depth}", element, depth + 1)
        return f"'[' || array_join(transform({value}, e{depth} -> coalesce({inner}, 'null')), ',') || ']'"
    if fields:
        named = [(f"{value}.{sql_name([name])}", name, inner) for name, inner in fields]
        return f"CASE WHEN {value} IS NOT NULL THEN {_object(named, depth)} END"
    return _plain(value, kind.upper())


def _plain(value: str, kind: str) -> str:
    if kind == "STRING":
        return rf"""'"' || replace(replace({value}, '\\', '\\\\'), '"', '\\"') || '"'"""
    if kind == "TIMESTAMP":
        return f"'\"' || {_time(value)} || '\"'"
    if kind in _AS_IT_STANDS:
        return f"CAST({value} AS STRING)"
    # A record holds no other: whatever stands there was put there by hand, and is no JSON.
    return f"CASE WHEN {value} IS NOT NULL THEN '?' END"
