"""A history of pipelines as the lineage tables hold it, made without Spark.

In: a number of edges. Out: `column_lineage` and `table_lineage` under a root. Tables stand in layers; each is
written once a day from one to three tables of the layer below, by the same statement.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from deltalake import write_deltalake

LAYERS, DAYS, COLUMNS = 8, 30, 20
_DAY = 86_400_000_000
_FIRST = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_SOURCES = 2  # of a table, on the average


def tables(edges: int) -> int:
    """How many tables write that many edges in all days."""
    return max(LAYERS, edges // (DAYS * COLUMNS * _SOURCES))


def name(layer: int, table: int, column: int | None) -> str:
    """What a table, or a column of it, is called."""
    return f"layer_{layer}.table_{table}" + ("" if column is None else f".column_{column}")


def write(root: Path, edges: int) -> None:
    """Make both tables."""
    pick = np.random.default_rng(1)
    number = tables(edges)
    width = max(1, number // LAYERS)
    layer, at = np.divmod(np.arange(number + width), width)  # one layer more: what is only read
    layer = np.minimum(layer, LAYERS)
    full = np.array(
        [f"spark_catalog.{name(int(a) - 1, int(b), None)}" for a, b in zip(layer, at, strict=True)]
    )
    ids = pick.integers(1, 2**62, len(full))
    column_ids = pick.integers(1, 2**62, (len(full), COLUMNS))
    target = np.repeat(np.arange(width, number + width), pick.integers(1, 2 * _SOURCES, number))
    source = np.maximum(0, (layer[target] - 1) * width + pick.integers(0, width, len(target)))
    day = np.repeat(np.arange(DAYS), len(target))
    source, target = np.tile(source, DAYS), np.tile(target, DAYS)
    query = day * len(full) + target
    when = _FIRST + day * _DAY + target * (_DAY // (len(full) + 1))
    head = _head(query, when)
    replaces = target % 3 == 0
    pairs = {**head, **_end("source", source, ids, full), **_end("target", target, ids, full)}
    kind = {"source_kind": ["direct"] * len(target), "is_indirect": np.zeros(len(target), bool)}
    _save(root / "table_lineage", {**pairs, **kind, "overwrites": replaces})
    each = np.repeat(np.arange(len(target)), COLUMNS)
    to = np.tile(np.arange(COLUMNS), len(target))
    # The same column of a source feeds a column each day.
    of = (to * 7 + source[each] * 3 + target[each]) % COLUMNS
    labels = np.array([f"column_{n}" for n in range(COLUMNS)])
    _save(
        root / "column_lineage",
        {
            **{key: np.asarray(value)[each] for key, value in {**pairs, **kind}.items()},
            "source_column_id": column_ids[source[each], of],
            "source_column_name": labels[of],
            "target_column_id": column_ids[target[each], to],
            "target_column_name": labels[to],
            "transformation": np.repeat("IDENTITY", len(each)),
        },
    )


def _head(query: Any, when: Any) -> dict[str, Any]:
    return {
        "query_id": np.array([f"0190{q:08x}-7000-7000-8000-{q:012x}" for q in query]),
        "query_start_time": when,
        "query_date": (when // _DAY).astype(np.int32),
        "user_name": np.array(["ann", "bob", "etl"])[query % 3],
        "query_type": np.repeat("INSERT", len(query)),
    }


def _end(end: str, table: Any, ids: Any, full: Any) -> dict[str, Any]:
    return {
        f"{end}_object_id": ids[table],
        f"{end}_object_name": full[table],
        f"{end}_object_domain": np.repeat("Table", len(table)),
    }


def _save(path: Path, columns: dict[str, Any]) -> None:
    types = {"query_start_time": pa.timestamp("us", "UTC"), "query_date": pa.date32()}
    made = {key: pa.array(value, types.get(key)) for key, value in columns.items()}
    write_deltalake(path.as_uri(), pa.table(made), partition_by=["query_date"])
