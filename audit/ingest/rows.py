"""The rows of the audit tables that sealed segments hold.

In: files of a spool. Out: a table of Arrow for each audit table.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from audit.ingest.aggregates import aggregate_rows
from audit.ingest.arrow_lists import exploded, fields_of
from audit.ingest.arrow_records import records_of
from audit.ingest.edges import edge_rows
from audit.record.aggregation import MARK
from audit.store.tables import ACCESS_HISTORY, AUDIT_TABLES, LINEAGE_TABLES, AuditTable


def rows_of(files: Iterable[Path]) -> dict[AuditTable, pa.Table]:
    """The rows of the intact records of sealed segments.

    Raises:
        pyarrow.ArrowInvalid: a record has a part of another type.
    """
    records = records_of(files)
    marked = records.filter(compute.is_valid(records[MARK]))
    # A filter copies what it keeps: most batches have no mark.
    single = records.filter(compute.is_null(records[MARK])) if len(marked) else records
    rows = {table: _single_rows(table, single) for table in AUDIT_TABLES}
    if len(marked):
        for table in rows.keys() - set(LINEAGE_TABLES):
            rows[table] = pa.concat_tables([rows[table], aggregate_rows(table, marked)])
    return rows


def _single_rows(table: AuditTable, records: pa.Table) -> pa.Table:
    if table in LINEAGE_TABLES:
        return edge_rows(table, records)
    if table is ACCESS_HISTORY:
        return fields_of(exploded(records.select(["access"]), "access")["access"])
    return fields_of(records["query"].drop_null())
