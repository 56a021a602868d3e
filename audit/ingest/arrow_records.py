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
from audit.ingest import parts
from audit.ingest.edges import EDGES
from audit.ingest.parts import RUNS, Parts, Run
from audit.record.aggregation import MARK
from audit.spark.arrow import arrow_type
from audit.spool.entry import PREFIX_BYTES, is_sound
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

_KINDS = frozenset({b" R ", b" G "})  # a gap has a row of query_history, as a record has
_KIND = slice(PREFIX_BYTES - 3, PREFIX_BYTES)
_CHUNK_BYTES = 8 << 20
"""Of lines that a thread parses at once."""


def _row_type(table: AuditTable) -> pa.DataType:
    """A row of a table, with the numbers of its parts."""
    columns = [pa.field(name, arrow_type(kind)) for name, kind, _ in table.columns]
    return pa.struct([*columns, *(pa.field(run.name, pa.int32()) for run in RUNS if run.table is table)])


SCHEMA = pa.schema(
    [
        ("query", _row_type(QUERY_HISTORY)),
        ("access", pa.list_(_row_type(ACCESS_HISTORY))),
        ("edges", arrow_type(EDGES)),
        (parts.EDGES, pa.int32()),
        (MARK, arrow_type("STRUCT<key: STRING, text: STRING>")),
    ]
)
"""A record: null is what it lacks, and what a part has."""


@dataclass(frozen=True, slots=True)
class Records:
    """The records of some segments.

    Attributes:
        rows: a row for each, by `SCHEMA`.
        of_runs: the parts of each of `RUNS`, by its name, as the rows number them.
        edges: lists of edges, the same.
    """

    rows: pa.Table
    of_runs: Mapping[str, pa.Table]
    edges: pa.Table


def records_of(files: Iterable[Path]) -> Records:
    """The intact records of sealed segments, in their order.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    found = Parts()
    rows = _parsed_at_once(map(found.cut, _lines(files)), SCHEMA)
    of_runs = {
        run.name: _parsed_at_once((b"{%s}" % one for one in found.of_runs[run.name]), _members(run))
        for run in RUNS
    }
    edges = (b'{"edges":%s}' % one for one in found.edges)
    return Records(rows, of_runs, _parsed_at_once(edges, pa.schema([SCHEMA.field("edges")])))


def _members(run: Run) -> pa.Schema:
    kinds = {name: kind for name, kind, _ in run.table.columns}
    return pa.schema([(name, arrow_type(kinds[name])) for name in run.columns])


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


def _lines(files: Iterable[Path]) -> Iterator[bytes]:
    """The JSON of each intact record."""
    for file in files:
        with file.open("rb") as opened:
            for line in opened:
                if line[_KIND] in _KINDS:
                    entry = memoryview(line.removesuffix(b"\n"))  # whose slices are no copies
                    if is_sound(entry):
                        yield bytes(entry[PREFIX_BYTES:])


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
