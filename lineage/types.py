"""Spark's type text, as far as lineage needs it: the fields of structs, the elements of arrays and maps.

In: a type as a catalog writes it (`struct<a:int,b:array<string>>`, any case). Out: field names and
types. Used by star expansion over structs, by generators and by field paths.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage.names import split_recorded


def struct_fields(type_text: str) -> list[tuple[str, str]]:
    """The (name, type) pairs of a struct type, [] for any other type.

    >>> struct_fields("STRUCT<a: INT COMMENT 'x', `b c`: array<struct<d:int>>>")
    [('a', 'INT'), ('b c', 'array<struct<d:int>>')]
    >>> struct_fields("struct<`a``:b`:int>")
    [('a`:b', 'int')]
    """
    inner = _inside(type_text, "struct")
    if inner is None:
        return []
    return [field for field in map(_field, _split(inner)) if field[0]]


def element_type(type_text: str) -> str | None:
    """The element type of an array, None for any other type."""
    inner = _inside(type_text, "array")
    return None if inner is None else inner.strip()


def map_types(type_text: str) -> tuple[str, str] | None:
    """The key and value types of a map, None for any other type."""
    inner = _inside(type_text, "map")
    parts = _split(inner) if inner is not None else []
    return (parts[0].strip(), parts[1].strip()) if len(parts) == 2 else None  # noqa: PLR2004  key and value


def field_type(type_text: str, name: str) -> str | None:
    """The type of a field of a struct (or of an array of structs), None where there is none."""
    element = element_type(type_text)
    for field, kind in struct_fields(element if element is not None else type_text):
        if field.lower() == name.lower():
            # Spark's `arr.f` over an array of structs is the array of the fields (GetArrayStructFields).
            return kind if element is None else f"array<{kind}>"
    return None


def field_name(type_text: str, name: str) -> str:
    """The spelling that the type gives a field, else the name as it stands."""
    element = element_type(type_text)
    for field, _ in struct_fields(element if element is not None else type_text):
        if field.lower() == name.lower():
            return field
    return name


def simple_type(type_text: str) -> str:
    """A type as Spark's `simpleString` writes it.

    >>> simple_type("ARRAY<STRUCT<objectId: BIGINT, names: ARRAY<STRING>>>")
    'array<struct<objectId:bigint,names:array<string>>>'
    """
    element, fields = element_type(type_text), struct_fields(type_text)
    if element is not None:
        return f"array<{simple_type(element)}>"
    if fields:
        return f"struct<{','.join(f'{name}:{simple_type(kind)}' for name, kind in fields)}>"
    return type_text.strip().lower()


def _inside(type_text: str, kind: str) -> str | None:
    text = type_text.strip()
    if text[: len(kind)].lower() != kind or not text.endswith(">"):
        return None
    rest = text[len(kind) :].lstrip()
    return rest[1:-1] if rest.startswith("<") else None


def _split(text: str) -> list[str]:
    parts, start = [], 0
    # A comma may stand in a COMMENT, in a name in back-ticks, and in `decimal(10,2)`.
    for at in _outside(text):
        if text[at] == ",":
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]] if text.strip() else []


def _outside(text: str) -> Iterator[int]:
    """The places outside quotes and brackets; behind a back-slash a quote ends no comment."""
    depth, quote, escaped = 0, "", False
    for at, char in enumerate(text):
        if quote:
            ends = char == quote and not escaped
            escaped = char == "\\" and quote != "`" and not escaped
            quote = "" if ends else quote
        elif char in "`'\"":
            quote = char
        elif char in "<(":
            depth += 1
        elif char in ">)":
            depth -= 1
        elif depth == 0:
            yield at


def _field(text: str) -> tuple[str, str]:
    text = text.strip()
    if text.startswith("`"):
        end = next(_outside(text), len(text))
        name, rest = ".".join(split_recorded(text[:end])), text[end:].lstrip()
    else:
        # Spark's `complexColType` takes a field without a colon as well: `STRUCT<a INT>`.
        name, sep, rest = text.partition(":")
        if not sep:
            name, _, rest = text.partition(" ")
    rest = rest.lstrip(": ").strip()
    end = next((at for at in _outside(rest) if rest[at].isspace() and _is_no_type(rest[at:])), len(rest))
    return name.strip(), rest[:end].strip()


def _is_no_type(text: str) -> bool:
    """Whether a text goes on with what stands behind the type of a field."""
    words = text.upper().split(maxsplit=2)[:2]
    return words[:1] == ["COMMENT"] or words == ["NOT", "NULL"]
