"""Rows as texts that anybody can hash: what a digest binds.

In: rows of an audit table, the columns that count. Out: a text for each. It is the JSON that Python's
`json.dumps(row, ensure_ascii=False, separators=(",", ":"))` gives: the columns in their order, null for none,
times as whole microseconds since 1970 in UTC. Columns that repeat from row to row come last, in groups: the
text has the SHA-256 of the text of a group, in hex.

DuckDB writes it, a hundred thousand rows a second and core; Python writes what DuckDB would write otherwise:
floating-point numbers, and control characters.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from lineage.types import element_type, simple_type, struct_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

Text = bytes | memoryview
Flat = Sequence[tuple[str, str]]
"""Names of columns and Spark's types."""
Columns = Sequence[tuple[str, str | Flat]]
"""The same, and behind them the names of groups with their columns."""
AT_ONCE = 20_000
"""Rows whose texts are in memory: 100 MB."""
_END = b'"}'
_HASH_AND_END = 64 + len(_END)
"""Bytes of a text from the hash of its last group on."""
_CONTROL = b"\\u00"


@dataclass(frozen=True, slots=True)
class Repeated:
    """The columns of a group, whose values come again from row to row.

    Attributes:
        values: each value once.
        index: the column of the rows that says which one a row has.
        ends: where the values of each number of the index begin, and the last ones end; without it each
            number has one.
    """

    values: pa.Table
    index: str
    ends: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, and what repeats in them.

    Attributes:
        table: the rows.
        repeated: what repeats, by group.
        statements: of a table with one group: a row for each statement, if its rows differ in it alone.
    """

    table: pa.Table
    repeated: Mapping[str, Repeated] = field(default_factory=dict)
    statements: pa.Table | None = None


def own_columns(columns: Columns) -> Flat:
    """Those that are in no group.

    >>> own_columns([("a", "INT"), ("g", [("b", "INT")])])
    [('a', 'INT')]
    """
    return [(name, kind) for name, kind in columns if isinstance(kind, str)]


def groups(columns: Columns) -> dict[str, Flat]:
    """The groups, by name.

    >>> groups([("a", "INT"), ("g", [("b", "INT")])])
    {'g': [('b', 'INT')]}
    """
    return {name: some for name, some in columns if not isinstance(some, str)}


def all_columns(columns: Columns) -> Flat:
    """Those of the groups as well.

    >>> all_columns([("a", "INT"), ("g", [("b", "INT")])])
    [('a', 'INT'), ('b', 'INT')]
    """
    return [*own_columns(columns), *itertools.chain(*groups(columns).values())]


def names_to_read(key: str, columns: Columns) -> list[str]:
    """The columns that make keys and texts, none twice.

    >>> names_to_read("b", [("a", "INT"), ("g", [("b", "INT")])])
    ['b', 'a']
    """
    return list(dict.fromkeys([key, *(name for name, _ in all_columns(columns))]))


def row_texts(
    rows: pa.Table, columns: Columns, repeated: Mapping[str, Repeated] = MappingProxyType({})
) -> Iterator[Text]:
    """The texts of rows, in their order, some thousand of them in memory at a time.

    Args:
        rows: with all of the columns, which may have more fields than counted then; of a group that repeats
            its index alone.
        columns: those that count.
        repeated: what repeats, by group.
    """
    from audit.spark.arrow import one_array

    known = {
        name: hashed(name, _each(repeated[name].values, some), repeated[name].ends)
        for name, some in groups(columns).items()
        if name in repeated
    }
    for start in range(0, len(rows), AT_ONCE):
        part = rows.slice(start, AT_ONCE)
        ends = [
            known[name].take(one_array(part[repeated[name].index]))
            if name in known
            else hashed(name, texts_of(_flat(part, some)))
            for name, some in groups(columns).items()
        ]
        yield from texts_of(with_groups(_flat(part, own_columns(columns)), ends))


def hashed(name: str, texts: Iterable[Text], ends: Sequence[int] = ()) -> pa.Array:
    """What the text of a row has of a group, for each text of the group; with ends for some of them each."""
    import pyarrow as pa

    start = b",%s:" % _text(name)
    found = [sha256(text).hexdigest().encode() for text in texts]
    if ends:
        found = [of_several(found[begin:end]) for begin, end in itertools.pairwise(ends)]
    return pa.array([b'%s"%s"' % (start, one) for one in found], pa.large_binary())


def of_several(hashes: Sequence[bytes]) -> bytes:
    """The hash of a group for rows that differ in it alone: of their hashes, sorted, a line each; in hex."""
    return hashes[0] if len(hashes) == 1 else sha256(text_of_several(hashes)).hexdigest().encode()


def text_of_several(hashes: Iterable[bytes]) -> bytes:
    """What the hash of several is of."""
    return b"\n".join(sorted(hashes))


def merged(texts: Iterable[Text]) -> list[bytes]:
    """The texts of a statement's rows, sorted; those that differ in their last group alone are one."""
    return sorted(start + of_several(hashes) + _END for start, hashes in alike(texts).items())


def alike(texts: Iterable[Text]) -> dict[bytes, list[bytes]]:
    """The hashes of the last group, by the beginnings of the texts."""
    found: dict[bytes, list[bytes]] = {}
    for text in map(bytes, texts):
        found.setdefault(text[:-_HASH_AND_END], []).append(text[-_HASH_AND_END : -len(_END)])
    return found


def spread(values: pa.Array, places: pa.Array) -> pa.Array:
    """Values in the order of the places of each, which are in lists.

    >>> import pyarrow as pa
    >>> spread(pa.array(["x", "y"]), pa.array([[3, 1], [2]])).to_pylist()
    ['x', 'y', 'x']
    """
    from pyarrow import compute

    in_order = compute.sort_indices(compute.list_flatten(places))
    return values.take(compute.list_parent_indices(places).take(in_order))


def with_groups(texts: pa.Array, ends: Sequence[pa.Array]) -> pa.Array:
    """The texts of rows, made of those of their own columns and of what they have of each group."""
    import pyarrow as pa
    from pyarrow import compute

    if not ends:
        return texts
    own = compute.binary_slice(texts.cast(pa.large_binary()), 0, -1)
    close, nothing = (pa.scalar(one, pa.large_binary()) for one in (b"}", b""))
    return compute.binary_join_element_wise(own, *ends, close, nothing)


def _each(rows: pa.Table, columns: Flat) -> Iterator[Text]:
    """The texts of rows without groups."""
    for start in range(0, len(rows), AT_ONCE):
        yield from texts_of(_flat(rows.slice(start, AT_ONCE), columns))


def _flat(rows: pa.Table, columns: Flat) -> pa.Array:
    """The texts of some rows without groups, before `texts_of`."""
    import pyarrow as pa

    made = with_columns(rows, columns)
    return pa.array(by_python(made), pa.large_binary()) if has_floats(columns) else by_duckdb(made, columns)


def by_python(rows: pa.Table) -> list[bytes]:
    """The definition, of rows without groups."""
    return [_text(row) for row in _plain(rows).to_pylist()]


def by_duckdb(rows: pa.Table, columns: Flat) -> pa.Array:
    """The same, much faster; not of floating-point numbers, and control characters have DuckDB's escapes."""
    from audit.spark.arrow import one_array

    with _database().cursor() as connection:
        connection.register("given", rows)
        found = connection.sql(f"SELECT {text_sql(columns)} AS text FROM given").to_arrow_table()  # noqa: S608 - our own names
    return one_array(found["text"])


def prepare() -> None:
    """Load what the first texts of a process need, a tenth of a second's work."""
    _database()


@cache
def _database() -> DuckDBPyConnection:
    """One for the process: to open it takes 30 ms, a cursor half of one."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def text_sql(columns: Flat) -> str:
    """DuckDB's SQL for the text of a row.

    >>> text_sql([("a", "BIGINT"), ("b", "TIMESTAMP")])
    'CAST(to_json(struct_pack("a" := "a", "b" := epoch_us("b"))) AS VARCHAR)'
    """
    fields = (
        f"{_quoted(name)} := " + (f"epoch_us({_quoted(name)})" if _is_time(kind) else _quoted(name))
        for name, kind in columns
    )
    return f"CAST(to_json(struct_pack({', '.join(fields)})) AS VARCHAR)"


def texts_of(texts: pa.Array) -> Iterator[Text]:
    """The texts of an array that `text_sql` has made, with Python's escapes; not copied."""
    import numpy as np
    import pyarrow as pa

    _, offsets, data = texts.buffers()
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    kind = np.int64 if is_large else np.int32
    ends = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1].tolist()
    view = memoryview(data or b"")
    # DuckDB's escapes of control characters are not Python's.
    has_controls = _CONTROL in bytes(view[ends[0] : ends[-1]])
    found = (view[start:end] for start, end in itertools.pairwise(ends))
    return map(_as_python, found) if has_controls else found


def _as_python(text: memoryview) -> Text:
    return _text(json.loads(bytes(text))) if _CONTROL in bytes(text) else text


def has_floats(columns: Flat) -> bool:
    """Whether a column has floating-point numbers, whose texts are Python's alone."""
    return any("DOUBLE" in kind.upper() for _, kind in columns)


def with_columns(rows: pa.Table, columns: Flat) -> pa.Table:
    """Rows as they were when a table had these columns, and structs these fields."""
    import pyarrow as pa

    from audit.spark.arrow import arrow_type, one_array

    arrays = []
    for name, kind in columns:
        array = one_array(rows[name])
        wanted = arrow_type(kind)
        arrays.append(array if array.type == wanted else _as_type(array, kind))
    return pa.table(arrays, names=[name for name, _ in columns])


def _as_type(array: pa.Array, kind: str) -> pa.Array:
    """A column with the fields of a type, in their order."""
    import pyarrow as pa

    from audit.spark.arrow import arrow_type

    kind = simple_type(kind)
    element, fields = element_type(kind), struct_fields(kind)
    nulls = array.is_null() if array.null_count else None
    if element is not None:
        # `flatten` leaves out what stands under nulls, so the offsets are those of the lists' lengths.
        flat = _as_type(array.flatten(), element)
        return _lists(array, flat)
    if fields:
        inner = [_as_type(_field(array, name, field), field) for name, field in fields]
        return pa.StructArray.from_arrays(inner, names=[name for name, _ in fields], mask=nulls)
    return array if array.type == arrow_type(kind) else array.cast(arrow_type(kind))


def _lists(lists: pa.Array, values: pa.Array) -> pa.Array:
    """Lists of the same lengths with other values."""
    import pyarrow as pa
    from pyarrow import compute

    lengths = compute.fill_null(compute.list_value_length(lists), 0)
    ends = compute.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(offsets, values, mask=mask)


def _field(array: pa.Array, name: str, kind: str) -> pa.Array:
    import pyarrow as pa
    from pyarrow import compute

    from audit.spark.arrow import arrow_type

    if array.type.get_field_index(name) < 0:
        return pa.nulls(len(array), arrow_type(kind))
    return compute.struct_field(array, name)


def _plain(rows: pa.Table) -> pa.Table:
    """Rows whose times are numbers."""
    import pyarrow as pa

    for number, one in enumerate(rows.schema):
        if pa.types.is_timestamp(one.type):
            micros = rows[one.name].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            rows = rows.set_column(number, one.name, micros)
    return rows


def _text(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def _is_time(kind: str) -> bool:
    return kind.upper() == "TIMESTAMP"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
