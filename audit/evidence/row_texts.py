"""Rows as texts that anybody can hash: what a digest binds.

In: rows of an audit table, the columns that count. Out: a text for each. It is the JSON that Python's
`json.dumps(row, ensure_ascii=False, separators=(",", ":"))` gives: all columns in their order, null for none,
times as whole microseconds since 1970 in UTC.

DuckDB writes it, a hundred thousand rows a second and core; Python writes what DuckDB would write otherwise:
floating-point numbers, and control characters.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from lineage.types import element_type, simple_type, struct_fields

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

Text = bytes | memoryview
Columns = Sequence[tuple[str, str]]
"""Names and Spark's types."""
AT_ONCE = 20_000
"""Rows whose texts are in memory: 100 MB."""
_CONTROL = b"\\u00"


@dataclass(frozen=True, slots=True)
class Repeated:
    """Columns whose values come again from row to row.

    Attributes:
        values: each value once.
        index: the column of the rows that says which one a row has.
    """

    values: pa.Table
    index: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table, and what repeats in them: it has the same text in each of them."""

    table: pa.Table
    repeated: Sequence[Repeated] = ()


def row_texts(rows: pa.Table, columns: Columns, repeated: Sequence[Repeated] = ()) -> Iterator[Text]:
    """The texts of rows, in their order, some thousand of them in memory at a time.

    Args:
        rows: with all of the columns, which may have more fields than counted then.
        columns: those that count.
        repeated: some of them, none twice.
    """
    if repeated and not has_floats(columns):
        yield from _joined(rows, columns, repeated)
        return
    for start in range(0, len(rows), AT_ONCE):
        part = with_columns(rows.slice(start, AT_ONCE), columns)
        yield from by_python(part) if has_floats(columns) else by_duckdb(part, columns)


def _joined(rows: pa.Table, columns: Columns, repeated: Sequence[Repeated]) -> Iterator[Text]:
    """The texts of rows, each joined of the texts of what repeats and of its own columns."""
    from audit.spark.arrow import one_array

    shared = {name: one for one in repeated for name in one.values.column_names}
    groups = [
        (one, list(some)) for one, some in itertools.groupby(columns, lambda column: shared.get(column[0]))
    ]
    with _database().cursor() as connection:
        texts, parts = {}, []
        for number, (one, group) in enumerate(groups):
            if one is None:
                parts.append(members_sql(group))
                continue
            connection.register("few", with_columns(one.values, group))
            found = connection.sql(f"SELECT {members_sql(group)} AS text FROM few").to_arrow_table()["text"]  # noqa: S608 - our own names
            texts[f"text {number}"] = one.index, one_array(found)
            parts.append(f'"text {number}"')
        # In one go: each || would copy what it has so far.
        joined = ", ',', ".join(parts)
        for start in range(0, len(rows), AT_ONCE):
            part = rows.slice(start, AT_ONCE)
            made = with_columns(part, [column for one, group in groups if one is None for column in group])
            for name, (index, some) in texts.items():
                made = made.append_column(name, some.take(one_array(part[index])))
            connection.register("given", made)
            found = connection.sql(f"SELECT concat('{{', {joined}, '}}') AS text FROM given").to_arrow_table()  # noqa: S608 - our own names
            for chunk in found["text"].chunks:
                yield from texts_of(chunk)


def by_python(rows: pa.Table) -> list[bytes]:
    """The definition."""
    return [_text(row) for row in _plain(rows).to_pylist()]


def by_duckdb(rows: pa.Table, columns: Columns) -> Iterator[Text]:
    """The same, much faster; not of floating-point numbers."""
    with _database().cursor() as connection:
        connection.register("given", rows)
        found = connection.sql(f"SELECT {text_sql(columns)} AS text FROM given").to_arrow_table()  # noqa: S608 - our own names
    for chunk in found["text"].chunks:
        yield from texts_of(chunk)


@cache
def _database() -> DuckDBPyConnection:
    """One for the process: to open it takes 30 ms, a cursor half of one."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def text_sql(columns: Columns) -> str:
    """DuckDB's SQL for the text of a row.

    >>> text_sql([("a", "BIGINT"), ("b", "TIMESTAMP")])
    'CAST(to_json(struct_pack("a" := "a", "b" := epoch_us("b"))) AS VARCHAR)'
    """
    fields = (
        f"{_quoted(name)} := " + (f"epoch_us({_quoted(name)})" if _is_time(kind) else _quoted(name))
        for name, kind in columns
    )
    return f"CAST(to_json(struct_pack({', '.join(fields)})) AS VARCHAR)"


def members_sql(columns: Columns) -> str:
    """DuckDB's SQL for a row's text without its braces."""
    return f"({text_sql(columns)})[2:-2]"


def texts_of(texts: pa.Array) -> Iterator[Text]:
    """The texts of an array that `text_sql` has made, not copied."""
    import numpy as np
    import pyarrow as pa

    _, offsets, data = texts.buffers()
    kind = np.int64 if pa.types.is_large_string(texts.type) else np.int32
    ends = np.frombuffer(offsets, kind)[texts.offset : texts.offset + len(texts) + 1].tolist()
    view = memoryview(data or b"")
    # DuckDB's escapes of control characters are not Python's.
    has_controls = _CONTROL in bytes(view[ends[0] : ends[-1]])
    found = (view[start:end] for start, end in itertools.pairwise(ends))
    return map(_as_python, found) if has_controls else found


def _as_python(text: memoryview) -> Text:
    return _text(json.loads(bytes(text))) if _CONTROL in bytes(text) else text


def has_floats(columns: Columns) -> bool:
    """Whether a column has floating-point numbers, whose texts are Python's alone."""
    return any("DOUBLE" in kind.upper() for _, kind in columns)


def with_columns(rows: pa.Table, columns: Columns) -> pa.Table:
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

    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            micros = rows[field.name].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            rows = rows.set_column(number, field.name, micros)
    return rows


def _text(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def _is_time(kind: str) -> bool:
    return kind.upper() == "TIMESTAMP"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
