"""Structs and lists of Arrow, as Spark's `inline` and `explode` take them apart."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute


def fields_of(structs: pa.ChunkedArray) -> pa.Table:
    """A column for each field of structs, none of which is null."""
    if not structs.num_chunks:  # from_struct_array (18) asks for one
        structs = pa.chunked_array([pa.array([], structs.type)])
    return pa.Table.from_struct_array(structs)


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
