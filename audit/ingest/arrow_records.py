"""The records of sealed segments as one Arrow table.

In: files of a spool. Out: the records in them, a row each, with the parts that rows of the audit tables are
made of. Arrow is told the types, so a record of other types stops the ingest: it is the spool's own, and must
not become nulls.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyarrow import json as arrow_json

from audit.ingest.edges import EDGES
from audit.record.aggregation import MARK
from audit.spark.arrow import arrow_type
from audit.spool.entry import PREFIX_BYTES, is_sound
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

_KINDS = frozenset({b" R ", b" G "})  # a gap has a row of query_history, as a record has
_KIND = slice(PREFIX_BYTES - 3, PREFIX_BYTES)
_CHUNK_BYTES = 8 << 20
"""Of lines that a thread parses at once."""
_AT_ONCE = 2


def _row_type(table: AuditTable) -> pa.DataType:
    return pa.struct([pa.field(name, arrow_type(kind)) for name, kind, _ in table.columns])


SCHEMA = pa.schema(
    [
        ("query", _row_type(QUERY_HISTORY)),
        ("access", pa.list_(_row_type(ACCESS_HISTORY))),
        ("edges", arrow_type(EDGES)),
        (MARK, arrow_type("STRUCT<key: STRING, text: STRING>")),
    ]
)
"""A record: null is what it lacks."""
_TOLD = arrow_json.ParseOptions(explicit_schema=SCHEMA, unexpected_field_behavior="ignore")


def records_of(files: Iterable[Path]) -> pa.Table:
    """The intact records of sealed segments, in their order.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    chunks = list(_chunks(files))
    if not chunks:
        return SCHEMA.empty_table()
    return pa.concat_tables(_parsed_at_once(chunks) if len(chunks) > 1 else [parsed(chunks[0])])


def _parsed_at_once(chunks: Sequence[bytes]) -> list[pa.Table]:
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            parts = [pool.submit(parsed, chunk) for chunk in chunks]
    except RuntimeError:
        # A driver ingests when it exits: Python starts no thread any more.
        return [parsed(chunk) for chunk in chunks]
    return [part.result() for part in parts]


def parsed(lines: bytes) -> pa.Table:
    """The records of some lines of JSON.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    # One block: a record may be larger than Arrow's default.
    whole = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    return arrow_json.read_json(io.BytesIO(lines), whole, _TOLD).select(SCHEMA.names)


def _chunks(files: Iterable[Path]) -> Iterator[bytes]:
    """The JSON of the records of files, some megabytes at a time."""
    lines: list[bytes] = []
    size = 0
    for file in files:
        with file.open("rb") as opened:
            for line in opened:
                entry = line.removesuffix(b"\n")
                if entry[_KIND] in _KINDS and is_sound(entry):
                    lines.append(entry[PREFIX_BYTES:])
                    size += len(entry)
                if size >= _CHUNK_BYTES:
                    yield b"\n".join(lines)
                    lines, size = [], 0
    if lines:
        yield b"\n".join(lines)
