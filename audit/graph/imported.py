"""What other systems say about where data went, as rows of the two lineage tables.

In: Arrow tables of `column_lineage`, `table_lineage` and `imported_lineage`. Out: the first two with the rows
of the third. An imported row has names and no ids: it gets those of the object that bore its name at its
time, so that a table of this root is one node, whoever has written it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lineage.catalog.object_ids import column_id, object_id

IMPORTED_FIELDS = (
    "query_id", "query_start_time", "user_name", "query_type",
    "source_object_name", "source_object_domain", "source_column_name",
    "target_object_name", "target_object_domain", "target_column_name",
    "source_kind", "is_indirect", "transformation", "overwrites",
)  # fmt: skip
_ENDS = ("source", "target")
_TIME = "query_start_time"
Row = dict[str, Any]


@dataclass(slots=True)
class _Seen:
    """When an id was seen under a name: first, last, and first as what was written."""

    first: int
    last: int
    written: int | None


@dataclass(frozen=True, slots=True)
class _Recorded:
    """The ids on record.

    Attributes:
        objects: by name, in lower case: the ids with when they were seen, oldest first.
        columns: by object id and column's name, in lower case.
        domains: by object id.
    """

    objects: Mapping[str, list[tuple[int, _Seen]]]
    columns: Mapping[tuple[int, str], int]
    domains: Mapping[int, str]

    def object(self, name: str, at: int, *, is_target: bool) -> int | None:
        """The id that a name had at a time; None for one that is not on record."""
        seen = self.objects.get(_folded(name), [])
        before = [one for one in seen if one[1].first <= at]
        if not before:
            return seen[0][0] if seen else None
        found = before[-1]
        later = seen[len(before) : len(before) + 1]
        # What another system makes anew shows here when it is read for the first time.
        if is_target and later and found[1].last < at:
            found_later = later[0]
            if found_later[1].written is None or found_later[1].written > found_later[1].first:
                return found_later[0]
        return found[0]


def _micros(times: Any) -> Any:
    """As numbers, UTC: for Python's times pyarrow (26) imports pandas, which takes longer than the answer."""
    return times.cast(pa.timestamp("us", "UTC")).cast(pa.int64())


def _folded(name: str) -> str:
    """A location's letters count as they are."""
    return name if "/" in name else name.casefold()


def with_imported(columns: pa.Table, tables: pa.Table, imported: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both lineage tables with the rows of other systems."""
    at = imported.schema.get_field_index(_TIME)
    rows = imported.set_column(at, _TIME, _micros(imported.column(at))).to_pylist()
    names = {_folded(row[f"{end}_object_name"]) for row in rows for end in _ENDS if row[f"{end}_object_name"]}
    recorded = _recorded(columns, tables, names)
    of_columns: list[Row] = []
    of_tables: list[Row] = []
    for row in rows:
        made = row | _ids(row, recorded)
        (of_columns if row["source_column_name"] is not None else of_tables).append(made)
    return _joined(columns, of_columns), _joined(tables, of_tables)


def _ids(row: Row, recorded: _Recorded) -> Row:
    found: Row = {}
    for end in _ENDS:
        name = row[f"{end}_object_name"]
        if name is None:
            continue
        one = recorded.object(name, row["query_start_time"], is_target=end == "target")
        if one is None:
            # The same for all rows, whatever domain each event says.
            one = object_id("DATASET", name)
        else:
            found[f"{end}_object_domain"] = recorded.domains[one]
        found[f"{end}_object_id"] = one
        label = row[f"{end}_column_name"]
        if label is not None:
            head = label.partition(".")[0].casefold()
            known = recorded.columns.get((one, label.casefold())) or recorded.columns.get((one, head))
            found[f"{end}_column_id"] = known if known is not None else column_id(one, label)
    return found


def _recorded(columns: pa.Table, tables: pa.Table, names: set[str]) -> _Recorded:
    objects: dict[str, dict[int, _Seen]] = {}
    labels: dict[tuple[int, str], int] = {}
    domains: dict[int, str] = {}
    for table in (columns, tables):
        for end in _ENDS:
            for row in _about(table, end, names):
                one, name, at = row[f"{end}_object_id"], row[f"{end}_object_name"], row["query_start_time"]
                if one is None:
                    one = object_id(row[f"{end}_object_domain"] or "", name)
                seen = objects.setdefault(_folded(name), {}).setdefault(one, _Seen(at, at, None))
                seen.first, seen.last = min(seen.first, at), max(seen.last, at)
                if end == "target":
                    seen.written = at if seen.written is None else min(seen.written, at)
                domains[one] = row[f"{end}_object_domain"] or ""
                label = row.get(f"{end}_column_name")
                if label is not None and row[f"{end}_column_id"] is not None:
                    labels[one, label.partition(".")[0].casefold()] = row[f"{end}_column_id"]
    ordered = {
        name: sorted(ids.items(), key=lambda one: (one[1].first, one[0])) for name, ids in objects.items()
    }
    return _Recorded(ordered, labels, domains)


def _about(table: pa.Table, end: str, names: set[str]) -> Iterable[Row]:
    """The first and the last of the rows whose end bears one of some names, for each of its ids."""
    column = table[f"{end}_object_name"].cast(pa.string())
    known = [name for name in pc.unique(column).to_pylist() if name is not None and _folded(name) in names]
    if not known:
        return []
    wanted = [f"{end}_object_id", f"{end}_object_name", f"{end}_object_domain", "query_start_time"]
    wanted += [name for name in (f"{end}_column_id", f"{end}_column_name") if name in table.column_names]
    found = table.select(wanted).filter(pc.is_in(column, pa.array(known, pa.string())))
    plain = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in found.columns
    ]
    plain = [_micros(one) if pa.types.is_timestamp(one.type) else one for one in plain]
    keys = [name for name in wanted if name != "query_start_time"]
    grouped = pa.table(plain, names=wanted).group_by(keys)
    summed = grouped.aggregate([("query_start_time", "min"), ("query_start_time", "max")])
    rows = summed.to_pylist()
    return [
        {**row, "query_start_time": row[f"query_start_time_{which}"]}
        for row in rows
        for which in ("min", "max")
    ]


def _joined(table: pa.Table, rows: list[Row]) -> pa.Table:
    """A lineage table with more rows, in the types of its columns."""
    if not rows:
        return table
    columns = []
    for field in table.schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_dictionary(field.type):
            made = pa.array(values, field.type.value_type).dictionary_encode()
            columns.append(made.cast(field.type))
        elif pa.types.is_timestamp(field.type):
            columns.append(pa.array(values, pa.int64()).cast(pa.timestamp("us", "UTC")).cast(field.type))
        else:
            columns.append(pa.array(values, field.type))
    return pa.concat_tables([table, pa.table(columns, schema=table.schema)])
