"""The records of sealed segments as one Arrow table.

In: files of a spool. Out: the records in them, a row each, with the parts that rows of the audit tables are
made of. Arrow is told the types, so a record of other types stops the ingest: it is the spool's own, and must
not become nulls.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import json as arrow_json

from audit.evidence.at_once import at_once
from audit.ingest.edges import EDGES, PARTS
from audit.ingest.parts import SHARED
from audit.record.aggregation import MARK
from audit.spark.arrow import arrow_type
from audit.spool.entry import PREFIX_BYTES
from audit.spool.parts import EDGES as EDGES_PART
from audit.spool.parts import is_part, part_of
from audit.spool.segment import SegmentScan, Survey
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

_CHUNK_BYTES = 8 << 20
"""Of lines that a thread parses at once."""


def _row_type(table: AuditTable) -> pa.DataType:
    """A row of a table, with the ids of its parts."""
    columns = [pa.field(name, arrow_type(kind)) for name, kind, _ in table.columns]
    return pa.struct([*columns, *(pa.field(one.name, pa.string()) for one in SHARED if one.table is table)])


SCHEMA = pa.schema(
    [
        ("query", _row_type(QUERY_HISTORY)),
        ("access", pa.list_(_row_type(ACCESS_HISTORY))),
        ("edges", arrow_type(EDGES)),
        (EDGES_PART.name, pa.string()),
        (MARK, arrow_type("STRUCT<key: STRING, text: STRING>")),
    ]
)
"""A record: null is what it lacks, and what a part has."""
_OF_PARTS = {
    **{
        one.name: pa.schema([
            (one.name, pa.string()),
            *((name, arrow_type(kind)) for name, kind, _ in one.table.columns if name in one.columns),
        ])
        for one in SHARED
    },
    EDGES_PART.name: PARTS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Records:
    """The records of some segments.

    Attributes:
        rows: a row for each, by `SCHEMA`.
        parts: by the name under which records name them, each once, with its id.
    """

    rows: pa.Table
    parts: Mapping[str, pa.Table]


def records_of(files: Iterable[Path], surveys: dict[Path, Survey]) -> Records:
    """The intact records of sealed segments, in their order.

    Args:
        files: the segments.
        surveys: gets what each of them holds.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    parts: dict[str, dict[bytes, bytes]] = {name: {} for name in _OF_PARTS}
    rows = _parsed_at_once(_lines(files, parts, surveys), SCHEMA)
    return Records(
        rows, {name: _parsed_at_once(parts[name].values(), schema) for name, schema in _OF_PARTS.items()}
    )


def _parsed_at_once(lines: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    tables = at_once(lambda chunk: parsed(chunk, schema), _chunks(lines))
    return pa.concat_tables(tables) if tables else schema.empty_table()


def parsed(lines: bytes, schema: pa.Schema = SCHEMA) -> pa.Table:
    """Some lines of JSON as rows of a schema.

    Raises:
        pyarrow.ArrowInvalid: a line has a value of another type.
    """
    told = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    # One block: a record may be larger than Arrow's default.
    whole = arrow_json.ReadOptions(use_threads=False, block_size=len(lines) + 1)
    return arrow_json.read_json(io.BytesIO(lines), whole, told).select(schema.names)


def _lines(
    files: Iterable[Path], parts: Mapping[str, dict[bytes, bytes]], surveys: dict[Path, Survey]
) -> Iterator[bytes]:
    """The JSON of each intact record; that of the parts before it is in `parts`, by name and id."""
    for file in files:
        with file.open("rb") as opened:
            scan = SegmentScan(opened)
            for line in scan:
                if is_part(line):
                    name, ident = part_of(line)
                    parts[name].setdefault(ident, line[PREFIX_BYTES:])
                else:
                    yield line[PREFIX_BYTES:]
        surveys[file] = scan.survey


def _chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Some megabytes at a time."""
    some: list[bytes] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size >= _CHUNK_BYTES:
            yield b"\n".join(some)
            some, size = [], 0
    if some:
        yield b"\n".join(some)
