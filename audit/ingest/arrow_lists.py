"""Structs and lists of Arrow, as Spark's `inline` and `explode` take them apart."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute

from audit.spark.arrow import one_array


def fields_of(structs: pa.ChunkedArray) -> pa.Table:
    """A column for each field of structs, none of which is null."""
    if not structs.num_chunks:  # from_struct_array (18) asks for one
        structs = pa.chunked_array([pa.array([], structs.type)])
    return pa.Table.from_struct_array(structs)


def taken(values: pa.ChunkedArray, index: pa.ChunkedArray) -> pa.ChunkedArray:
    """A value for each number of an index, of lists as well."""
    return pa.chunked_array([one_array(values).take(one_array(index))], values.type)


def exploded(rows: pa.Table, column: str) -> pa.Table:
    """A row for each element of the lists in a column, which comes first; none for an empty list or a null.

    >>> exploded(pa.table({"a": [1, 2, 3], "b": [["x", "y"], [], None]}), "b").to_pylist()
    [{'b': 'x', 'a': 1}, {'b': 'y', 'a': 1}]
    """
    lists = rows[column].combine_chunks()
    elements = pa.table({column: compute.list_flatten(lists)})
    of_row = compute.list_parent_indices(lists)
    for name in rows.column_names:
        if name != column:
            elements = elements.append_column(name, rows[name].take(of_row))
    return elements


def places(wanted: pa.ChunkedArray, among: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where each value stands among others; null where it does not.

    >>> places(pa.chunked_array([["b", None, "c"]]), pa.chunked_array([["a", "b"]])).to_pylist()
    [1, None, None]
    """
    return compute.index_in(wanted, value_set=among, skip_nulls=True)


def numbered(numbers: pa.ChunkedArray, first: int) -> pa.ChunkedArray:
    """Numbers from `first` on in the place of nulls.

    >>> numbered(pa.chunked_array([pa.array([0, None, 1, None], pa.int32())]), 2).to_pylist()
    [0, 2, 1, 3]
    """
    is_missing = compute.is_null(numbers)
    following = compute.cumulative_sum(is_missing.cast(pa.int32()))
    return compute.if_else(is_missing, compute.add(following, pa.scalar(first - 1, pa.int32())), numbers)
