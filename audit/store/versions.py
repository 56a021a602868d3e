"""A statement on record, for a read of the past at that statement and for its replay.

In: a query id. Out: what the tables hold of it; None where no statement has the id. What is not in the
tables yet is taken in first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable
from time_travel.recorded import Recorded, VersionRead

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from audit.driver import Driver


def recorded(driver: Driver, query_id: str) -> Recorded | None:
    """A statement on record with the versions that it read; None for an unknown query id.

    Raises:
        IngestError: the records could not be taken in.
    """
    driver.flush()
    queries, accesses = (_rows(driver, table, query_id) for table in (QUERY_HISTORY, ACCESS_HISTORY))
    found = queries.selectExpr(
        "query_text", "action", "execution_status", "database_name", "schema_name", "unix_micros(start_time)"
    ).collect()
    if not found:
        return None
    text, action, status, catalog, schema, start = found[0]
    entries = accesses.selectExpr("inline(object_versions)").where("access = 'read'").collect()
    read = tuple(VersionRead(entry.objectName, entry.version, entry.objectId) for entry in entries)
    return Recorded(
        query_id,
        text or "",
        action or "",
        status,
        (catalog or "", schema or ""),
        start,
        tuple(dict.fromkeys(read)),
    )


def _rows(driver: Driver, table: AuditTable, query_id: str) -> DataFrame:
    rows = driver.spark.read.format("delta").load(table.location(driver.config.root))
    return rows.where(rows.query_id == query_id)
