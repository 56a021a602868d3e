"""A root of audit tables without Spark: delta-rs writes them, with the columns that Spark would give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
from deltalake import write_deltalake
from sqlglot import exp

from audit.policies.model.events import COLUMNS as EVENT_COLUMNS
from audit.policies.model.events import NAME as EVENTS
from audit.policies.model.events import row_of
from audit.store.measured.catalog_columns import COLUMNS as CATALOG_COLUMNS
from audit.store.measured.names import CATALOG
from audit.store.tables import AUDIT_TABLES, AuditTable
from audit.time_travel.retention.storage_names import TABLES
from audit.time_travel.retention.storage_views import COLUMNS as STORAGE_COLUMNS
from lineage.types import element_type, struct_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from audit.policies.model.events import GovernanceEvent


def make_root(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> str:
    """The tables under a folder; a row's missing columns are NULL, and its day is that of its time."""
    for table in AUDIT_TABLES:
        write_deltalake(
            str(folder / table.name), rows_of(table, rows.get(table.name, [])), partition_by=["query_date"]
        )
    return str(folder)


def add_governance(
    root: str, events: Iterable[GovernanceEvent], without: Collection[str] = (), first: int = 0
) -> None:
    """Events of governance, from a number on; columns may be missing, as in a table of an older version."""
    rows = [row_of(number, event) for number, event in enumerate(events, first)]
    table = _arrow(rows, EVENT_COLUMNS).drop_columns(list(without))
    write_deltalake(f"{root}/{EVENTS}", table, mode="append")


def add_catalog(root: str, rows: list[tuple[Any, ...]]) -> None:
    """What a session has measured of the catalog, as rows of `object_catalog`."""
    write_deltalake(f"{root}/{CATALOG}", _arrow(rows, CATALOG_COLUMNS))


def add_storage(root: str, tables: list[dict[str, Any]]) -> None:
    """What a session has measured of the tables: a row of `object_storage` each; what is missing is NULL."""
    rows = [tuple(one.get(name) for name, _, _ in STORAGE_COLUMNS[TABLES]) for one in tables]
    write_deltalake(f"{root}/{TABLES}", _arrow(rows, STORAGE_COLUMNS[TABLES]))


def arrow_type(kind: str) -> pa.DataType:
    """The Arrow type of a type of Spark's SQL."""
    if fields := struct_fields(kind):
        return pa.struct([(name, arrow_type(inner)) for name, inner in fields])
    element = element_type(kind)
    if element is not None:
        return pa.list_(arrow_type(element))
    moment = pa.timestamp("us", "UTC")
    plain = {
        "STRING": pa.string(), "BIGINT": pa.int64(), "INT": pa.int32(), "BOOLEAN": pa.bool_(),
        "DOUBLE": pa.float64(),
    }  # fmt: skip
    return moment if kind == "TIMESTAMP" else plain[kind]


def _arrow(rows: list[tuple[Any, ...]], columns: tuple[tuple[str, str, str], ...]) -> pa.Table:
    values = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [pa.array(one, arrow_type(kind)) for one, (_, kind, _) in zip(values, columns, strict=True)]
    return pa.table(arrays, names=[name for name, _, _ in columns])


def rows_of(table: AuditTable, rows: list[dict[str, Any]]) -> Any:
    """Rows as an Arrow table."""
    kinds = {name: _duck(kind) for name, kind, _ in table.columns}
    with duckdb.connect() as connection:
        columns = ", ".join(f'"{name}" {kind}' for name, kind in kinds.items())
        connection.execute(f"CREATE TABLE made ({columns})")
        for row in rows:
            names = ", ".join(f'"{name}"' for name in row)
            values = ", ".join(f"CAST(? AS {kinds[name]})" for name in row)
            connection.execute(f"INSERT INTO made ({names}) VALUES ({values})", list(row.values()))
        day = f"CAST({table.time} AS DATE) AS query_date"
        return connection.sql(f"SELECT *, {day} FROM made").to_arrow_table()


def append(root: str, table: AuditTable, rows: list[dict[str, Any]]) -> None:
    """Rows as Spark types them, at the end of a table, which is made if it is not there."""
    schema = pa.schema([(name, arrow_type(kind)) for name, kind, _ in table.columns])
    day = [row.get(table.time) and row[table.time].date() for row in rows]
    made = pa.Table.from_pylist(rows, schema=schema)
    made = made.append_column("query_date", pa.array(day, pa.date32()))
    write_deltalake(f"{root}/{table.name}", made, mode="append", partition_by=["query_date"])


def _duck(kind: str) -> str:
    return exp.DataType.build(kind, dialect="spark").sql("duckdb").replace("TIMESTAMPTZ", "TIMESTAMP")
