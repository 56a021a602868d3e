"""Who has created an object, from the records: its owner, where nobody was granted OWNERSHIP.

In: an object. Out: a `Creation`; None where its statement is not on record, or no longer. What is not in the
tables yet is taken in first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY, AuditTable, exists
from lineage.model import Domain
from lineage.names import quote_name, split_name, sql_text
from policies.guarding import Creation

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from audit.driver import Driver

_DDL = "object_modified_by_ddl"


def creation_of(driver: Driver, domain: Domain, name: str, identity: int | None) -> Creation | None:
    """Who has created what has, or last had, a name; or what has an id that a rename keeps.

    Raises:
        IngestError: the records could not be taken in.
    """
    if identity is not None:
        about = f"{_DDL}.objectId = {identity}"
        found = first_of(_changes(driver, about, "false"))
        if found is None:
            driver.flush()
            found = first_of(_changes(driver, about, "false"))
    else:
        driver.flush()  # the newest counts
        found = last_of(_changes(driver, *_of_name(domain, name)))
    if found is None:
        return None
    queries = _read(driver, QUERY_HISTORY)
    row = queries.where(queries.query_id == found.query_id).select("role_name").first()
    return Creation(found.time, found.user_name, None if row is None else row.role_name)


def _of_name(domain: Domain, name: str) -> tuple[str, str]:
    """DDL on a name and on the schema that it is in, and what tells that schema."""
    whole = quote_name(split_name(name)[:-1])
    own, its = (f"lower({_DDL}.objectName) = {sql_text(one.lower())}" for one in (name, whole))
    is_own = f"{_DDL}.objectDomain = {sql_text(domain.value)}"
    is_whole = f"NOT ({own} AND {is_own})"
    return f"({own} AND {is_own}) OR ({its} AND {_DDL}.objectDomain = 'SCHEMA')", is_whole


def _changes(driver: Driver, about: str, is_whole: str) -> list[Any]:
    if not exists(driver.spark, ACCESS_HISTORY, driver.config.root):
        return []
    found = _read(driver, ACCESS_HISTORY).where(about)
    return (
        found.selectExpr(
            "query_id",
            "unix_micros(query_start_time) AS time",
            "user_name",
            f"{is_whole} AS is_whole",
            f"{_DDL}.operationType AS operation",
            f"get_json_object({_DDL}.properties, '$.objectName.value') IS NOT NULL AS is_renamed",
        )
        .orderBy("time", "query_id")
        .collect()
    )


def first_of(changes: Iterable[Any]) -> Any | None:
    """The creation of what has an id: whoever replaces or registers it later gets no other object."""
    return next((one for one in changes if one.operation in ("CREATE", "REPLACE")), None)


def last_of(changes: Iterable[Any]) -> Any | None:
    """The creation of what has, or last had, a name, which one object after the other may have had.

    What was dropped is below what was dropped later, as UNDROP finds it.

    Args:
        changes: DDL on the name, and on the schema that it is in (`is_whole`), oldest first.
    """
    alive: Any | None = None
    dropped: list[Any] = []
    went: list[bool] = []
    for one in changes:
        if one.is_whole:
            if one.operation == "DROP":
                went.append(alive is not None)
                dropped += [] if alive is None else [alive]
                alive = None
            elif one.operation == "UNDROP" and went and went.pop() and dropped:
                alive = dropped.pop()
        elif one.operation == "DROP":
            dropped += [] if alive is None else [alive]
            alive = None
        elif one.operation == "UNDROP":
            alive = dropped.pop() if dropped else None
        elif one.is_renamed:
            alive = None
        elif one.operation == "CREATE" or (one.operation == "REPLACE" and alive is None):
            alive = one
    return alive or (dropped[-1] if dropped else None)


def _read(driver: Driver, table: AuditTable) -> DataFrame:
    return driver.spark.read.format("delta").load(table.location(driver.config.root))
