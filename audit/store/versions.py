"""What a statement on record has read: its versions, for a read of the past at that statement.

In: a query id. Out: versions by object; None where no statement has the id. What is not in the tables yet
is taken in first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from audit.store.tables import ACCESS_HISTORY

if TYPE_CHECKING:
    from audit.driver import Driver


def versions_read(driver: Driver, query_id: str) -> dict[str, int] | None:
    """The versions that a statement read, by name in lower case; None for an unknown query id.

    Raises:
        IngestError: the records could not be taken in.
    """
    driver.flush()
    table = driver.spark.read.format("delta").load(ACCESS_HISTORY.location(driver.config.root))
    rows = table.where(table.query_id == query_id).select("object_versions").collect()
    if not rows:
        return None
    return {entry.objectName.lower(): entry.version for entry in rows[0][0] or () if entry.access == "read"}
