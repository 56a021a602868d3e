"""A root of audit tables without Spark: delta-rs writes them, with the columns that Spark would give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
from deltalake import write_deltalake
from sqlglot import exp

from audit.store.tables import AUDIT_TABLES, AuditTable

if TYPE_CHECKING:
    from pathlib import Path


def make_root(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> str:
    """The tables under a folder; a row's missing columns are NULL, and its day is that of its time."""
    for table in AUDIT_TABLES:
        write_deltalake(
            str(folder / table.name), rows_of(table, rows.get(table.name, [])), partition_by=["query_date"]
        )
    return str(folder)


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


def _duck(kind: str) -> str:
    return exp.DataType.build(kind, dialect="spark").sql("duckdb").replace("TIMESTAMPTZ", "TIMESTAMP")
