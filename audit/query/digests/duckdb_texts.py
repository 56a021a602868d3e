"""The texts of rows (`audit.evidence.row_texts`) as DuckDB reads them out of files.

In: SQL for rows. Out: their keys and texts, some thousand at a time. A group with lists in lists is made once
for all rows that have it: to compare it takes half as long as to write its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from audit.evidence.row_texts import (
    AT_ONCE,
    Columns,
    Flat,
    Text,
    all_columns,
    groups,
    has_floats,
    hashed,
    names_to_read,
    own_columns,
    row_texts,
    spread,
    text_sql,
    texts_of,
    with_groups,
)
from audit.query.translation import quoted
from lineage.types import simple_type

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection


def duckdb_texts(
    connection: DuckDBPyConnection, rows: str, key: str, columns: Columns, kinds: Mapping[str, str]
) -> Iterator[tuple[Sequence[str], Iterable[Text]]]:
    """See `audit.query.answer.Source.texts`.

    Args:
        connection: sees the table.
        rows: FROM and WHERE; the rows of files come in their order, each time.
        key: a column of texts.
        columns: those that count.
        kinds: the columns that the table has.
    """
    every = all_columns(columns)
    if has_floats(every) or any(kinds.get(name) != simple_type(kind) for name, kind in every):
        listed = ", ".join(map(quoted, names_to_read(key, columns)))
        found = connection.sql(f"SELECT {listed} {rows}").to_arrow_table()
        yield found[key].to_pylist(), row_texts(found, columns)
        return
    some = groups(columns)
    repeated = {
        name: _repeated(connection, rows, name, group) for name, group in some.items() if _is_large(group)
    }
    texts = {name: text_sql(group) for name, group in some.items() if name not in repeated}
    listed = ", ".join(f"{text} AS {quoted(name)}" for name, text in texts.items())
    asked = f"SELECT {quoted(key)}, {text_sql(own_columns(columns))}{', ' if texts else ''}{listed} {rows}"
    done = 0
    for batch in connection.sql(asked).to_arrow_reader(AT_ONCE):
        keys, own, *others = batch.columns
        made = {name: hashed(name, texts_of(one)) for name, one in zip(texts, others, strict=True)}
        made |= {name: one.slice(done, len(batch)) for name, one in repeated.items()}
        yield keys.to_pylist(), texts_of(with_groups(own, [made[name] for name in some]))
        done += len(batch)


def _is_large(columns: Flat) -> bool:
    return any(simple_type(kind).count("array<") > 1 for _, kind in columns)


def _repeated(connection: DuckDBPyConnection, rows: str, name: str, columns: Flat) -> pa.Array:
    """What the text of each row has of a group."""
    from audit.spark.arrow import one_array

    listed = ", ".join(quoted(column) for column, _ in columns)
    asked = f"SELECT {text_sql(columns)}, list(place) FROM"
    asked += f" (SELECT {listed}, row_number() OVER () AS place {rows}) GROUP BY {listed}"
    texts, places = (one_array(column) for column in connection.sql(asked).to_arrow_table().columns)
    return spread(hashed(name, texts_of(texts)), places)
