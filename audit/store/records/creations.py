"""Looks up the creator of an object in the records: its owner, unless OWNERSHIP was granted.

In: an object. Out: a `RecordedCreation`; None if its statement is not recorded. Waiting records are ingested
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from audit.policies.enforcement.privilege_checks import RecordedCreation
from audit.store.made_tables import exists
from audit.store.tables import ACCESS_HISTORY, QUERY_HISTORY
from lineage.model import Domain
from lineage.names import quote_name, split_name, sql_text

if TYPE_CHECKING:
    from audit.store.records.record_reader import RecordReader

_DDL = "object_modified_by_ddl"


def creation_of(
    records: RecordReader, domain: Domain, name: str, identity: int | None
) -> RecordedCreation | None:
    """The creator of an object, by the id that a rename keeps, else by its name.

    Raises:
        IngestError: waiting records could not be ingested.
    """
    if identity is not None:
        about = f"{_DDL}.objectId = {identity}"
        found = creation_of_id(_changes(records, about, "false"))
        # The id exists once, so a record in the tables needs no flush; only a missing one may still be in the
        # spool.
        if found is None:
            records.flush()
            found = creation_of_id(_changes(records, about, "false"))
    else:
        records.flush()  # the newest counts
        found = creation_of_name(_changes(records, *_of_name(domain, name)))
    if found is None:
        return None
    queries = records.rows(QUERY_HISTORY)
    row = queries.where(queries.query_id == found.query_id).select("role_name").first()
    return RecordedCreation(found.time, found.user_name, None if row is None else row.role_name)


def _of_name(domain: Domain, name: str) -> tuple[str, str]:
    """DDL on a name and on its schema, with a flag for the schema's."""
    whole = quote_name(split_name(name)[:-1])
    own, its = (f"lower({_DDL}.objectName) = {sql_text(one.lower())}" for one in (name, whole))
    is_own = f"{_DDL}.objectDomain = {sql_text(domain.value)}"
    is_whole = f"NOT ({own} AND {is_own})"
    return f"({own} AND {is_own}) OR ({its} AND {_DDL}.objectDomain = 'SCHEMA')", is_whole


def _changes(records: RecordReader, about: str, is_whole: str) -> list[Any]:
    if not exists(records.spark, ACCESS_HISTORY, records.root):
        return []
    found = records.rows(ACCESS_HISTORY).where(about)
    return (
        found.selectExpr(
            "query_id",
            "unix_micros(query_start_time) AS time",
            "user_name",
            f"{is_whole} AS is_whole",
            f"{_DDL}.operationType AS operation",
            # A rename has its new name in the property objectName (access-history document).
            f"get_json_object({_DDL}.properties, '$.objectName.value') IS NOT NULL AS is_renamed",
        )
        # Query ids are UUIDv7: of one microsecond the later id is the later statement.
        .orderBy("time", "query_id")
        .collect()
    )


def creation_of_id(changes: Iterable[Any]) -> Any | None:
    """The creation of an id: the first, as a later REPLACE or registration keeps the object."""
    return next((one for one in changes if one.operation in ("CREATE", "REPLACE")), None)


def creation_of_name(changes: Iterable[Any]) -> Any | None:
    """The creation of the object that has, or last had, a name; several objects may have had it.

    Dropped objects form a stack: UNDROP restores the last one.

    Args:
        changes: DDL on the name, and on the schema that it is in (`is_whole`), oldest first.
    """
    alive: Any | None = None
    dropped: list[Any] = []
    # For each drop of the schema: whether the object was in it.
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
