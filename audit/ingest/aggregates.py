"""One row for the records of a batch that have the same mark (`audit.record.aggregation`).

In: the records of a batch. Out: the rows of query_history and access_history, where a row with `calls` stands
for as many statements: it has the id and the start of the first, the end of the last, and what all of them
took and gave. Which is the first depends on the batch alone: one that is run again gives the same rows.
"""

from __future__ import annotations

import pyarrow as pa
from pyarrow import compute

from audit.ingest.arrow_lists import exploded, fields_of
from audit.record.aggregation import MARK
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable

_SUMMED = ("total_elapsed_time", "rows_produced", "bytes_scanned", "bytes_written")
_KEY, _FIRST, _TEXT = "key", "first", "query_text"


def aggregate_rows(table: AuditTable, records: pa.Table) -> pa.Table:
    """The rows of query_history or access_history.

    Args:
        table: one of the two.
        records: as `records_of` gives them, all with a mark.
    """
    records = _ordered(records)
    query, mark = fields_of(records["query"]), fields_of(records[MARK])
    asked = pa.table(
        {
            _KEY: mark[_KEY],
            _FIRST: pa.array(range(len(records)), pa.int64()),
            **{name: query[name] for name in ("end_time", _TEXT, *_SUMMED)},
        }
    )
    of_all = asked.group_by(_KEY, use_threads=False).aggregate([
        (_FIRST, "min"), (_FIRST, "count"), ("end_time", "max"), (_TEXT, "min"), (_TEXT, "max"),
        *((name, "sum") for name in _SUMMED),
    ])  # fmt: skip
    first = of_all[f"{_FIRST}_min"]
    if table is ACCESS_HISTORY:
        access = fields_of(exploded(records.take(first).select(["access"]), "access")["access"])
        return access.select(ACCESS_HISTORY.names)
    rows = query.take(first)
    least, most = of_all[f"{_TEXT}_min"], of_all[f"{_TEXT}_max"]
    made = {
        "end_time": of_all["end_time_max"],
        **{name: of_all[f"{name}_sum"] for name in _SUMMED},
        # The text of one call must not stand for others that asked for another row.
        _TEXT: compute.if_else(compute.equal(least, most), least, mark["text"].take(first)),
        "calls": of_all[f"{_FIRST}_count"],
    }
    for name, values in made.items():
        rows = rows.set_column(rows.column_names.index(name), name, values)
    return rows.select(QUERY_HISTORY.names)


def _ordered(records: pa.Table) -> pa.Table:
    """By their ids, which grow with time."""
    return records.take(compute.sort_indices(fields_of(records["query"])["query_id"]))
