"""The rows of the audit tables that sealed segments hold.

In: files of a spool. Out: the rows of each audit table, with what repeats in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from audit.evidence.row_texts import Repeated, Rows
from audit.ingest.aggregates import aggregate_rows
from audit.ingest.arrow_lists import exploded, fields_of, numbered, places, taken
from audit.ingest.arrow_records import Records, records_of
from audit.ingest.edges import edge_rows
from audit.ingest.parts import SHARED
from audit.record.aggregation import MARK
from audit.spool.parts import EDGES
from audit.spool.segment import Survey
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES, LINEAGE_TABLES, QUERY_HISTORY, AuditTable


def rows_of(files: Iterable[Path], surveys: dict[Path, Survey] | None = None) -> dict[AuditTable, Rows]:
    """The rows of the intact records of sealed segments.

    Args:
        files: the segments.
        surveys: gets what each of them holds.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    records = records_of(files, {} if surveys is None else surveys)
    marks = records.rows[MARK]
    marked = records.rows.filter(compute.is_valid(marks))
    # A filter copies what it keeps: most batches have no mark.
    single = records.rows.filter(compute.is_null(marks)) if len(marked) else records.rows
    if single["query"].null_count:
        single = single.filter(compute.is_valid(single["query"]))
    edges = records.parts[EDGES.name]
    access = fields_of(exploded(single.select(["access"]), "access")["access"])
    query = _whole(QUERY_HISTORY, fields_of(single["query"]), records)
    rows = {
        ACCESS_HISTORY: _whole(ACCESS_HISTORY, access, records),
        **{table: edge_rows(table, single, query.table, edges) for table in LINEAGE_TABLES},
        QUERY_HISTORY: query,
    }
    if len(marked):
        for table in rows.keys() - set(LINEAGE_TABLES):
            made = rows[table].table.select(table.names)
            rows[table] = Rows(pa.concat_tables([made, aggregate_rows(table, marked)]))
    return {table: rows[table] for table in AUDIT_TABLES}


def _whole(table: AuditTable, own: pa.Table, records: Records) -> Rows:
    """Rows with what their parts have."""
    made = {name: own[name] for name in table.names}
    repeated = {}
    for one in SHARED:
        if one.table is not table:
            continue
        parts = records.parts[one.name]
        number, values = places(own[one.name], parts[one.name]), parts.select(one.columns)
        others = own.filter(compute.is_null(number)).select(one.columns)
        if len(others):
            # Records of another form have no part: what they hold is one.
            number = numbered(number, len(values))
            values = pa.concat_tables([values, others])
        made |= {name: taken(values[name], number) for name in one.columns}
        made[one.name] = number
        repeated[one.group] = Repeated(values, one.name)
    return Rows(pa.table(made), repeated)
