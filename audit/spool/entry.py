"""One entry of the journal and its line of text.

In: a kind, a query id and a payload. Out: `<crc32, 8 hex digits> <kind> <json>` and a newline, where
the checksum covers `<kind> <json>`. The JSON object always holds `query_id`; the rest is the
payload, flat, so that `cut -c12- | jq` and Spark's `from_json` read it as it stands.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from audit.core.errors import SpoolEntryError
from audit.core.json_text import to_json

if TYPE_CHECKING:
    from collections.abc import Mapping

Kind = Literal["S", "E", "F", "R", "G"]
"""S: a statement starts. E: it ended. F: a fact that its analysis needs. R: its record, the rows of
the audit tables. G: a row of query_history that is no statement: a gap, which is a counted loss, or what has
happened to the logging itself."""

Durability = Literal["now", "soon", "later"]
"""When the disk has an entry. now: before its append returns. soon: a thread syncs it while its writer goes
on. later: with the next sync. A killed process loses none of them; a power cut may lose the last two."""

KINDS: frozenset[str] = frozenset(get_args(Kind))
PREFIX_BYTES = 11
"""Bytes before the JSON: eight digits, a space, the kind, a space."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A good entry; `payload` is the whole JSON object, `query_id` included."""

    kind: Kind
    query_id: str
    payload: dict[str, Any]
    line: bytes
    """The line on disk, newline included."""


def encode(kind: Kind, query_id: str, payload: Mapping[str, Any]) -> bytes:
    r"""The line of an entry, newline included.

    Example:
        >>> encode("S", "q1", {"query_text": "SELECT\n1"})
        b'9eec61a1 S {"query_id":"q1","query_text":"SELECT\\n1"}\n'

    Raises:
        SpoolEntryError: the payload is no JSON, the kind is unknown, or the payload names another id.
    """
    if kind not in KINDS:
        raise SpoolEntryError(f"entry kind {kind!r} of {query_id} is unknown", f"use one of {sorted(KINDS)}")
    if payload.get("query_id", query_id) != query_id:
        raise SpoolEntryError(
            f"the payload of {query_id} names {payload['query_id']!r} as its query_id", "leave the key out"
        )
    try:
        # First in the object: ingest cuts the id out at a fixed place (`audit.ingest.folder`).
        text = to_json({"query_id": query_id, **payload})
    except TypeError as cause:
        raise SpoolEntryError(
            f"the {kind} payload of {query_id} has no JSON form ({cause})",
            "pass strings, numbers, lists, dicts",
        ) from cause
    return framed(b"%s %s" % (kind.encode(), text))


def framed(body: bytes) -> bytes:
    """The line of a kind and its JSON, newline included."""
    return b"%08x %s\n" % (zlib.crc32(body), body)


def is_sound(line: bytes | memoryview) -> bool:
    """Whether a line without its newline is framed rightly and matches its checksum."""
    return (
        len(line) > PREFIX_BYTES
        and line[8:9] == line[10:11] == b" "
        # A memoryview makes no copy of a line that may hold megabytes.
        and line[:8] == b"%08x" % zlib.crc32(memoryview(line)[9:])
    )


def decode(line: bytes) -> Entry | str:
    r"""The entry of a line without its newline, or the reason why it is none.

    Example:
        >>> decode(b'9eec61a1 S {"query_id":"q1","query_text":"SELECT\\n1"}').payload["query_text"]
        'SELECT\n1'
        >>> decode(b'9eec61a2 S {"query_id":"q1","query_text":"SELECT\\n1"}')
        'checksum does not match'
    """
    if not is_sound(line):
        return "checksum does not match"
    # Any byte is a character of Latin-1, so a damaged one raises no UnicodeDecodeError.
    kind = line[9:10].decode("latin-1")
    try:
        payload = orjson.loads(line[PREFIX_BYTES:])
    except orjson.JSONDecodeError:
        return "no JSON after a right checksum"
    if kind not in KINDS or not isinstance(payload, dict) or not isinstance(payload.get("query_id"), str):
        return "no entry after a right checksum"
    return Entry(kind, payload["query_id"], payload, line + b"\n")  # type: ignore[arg-type]
