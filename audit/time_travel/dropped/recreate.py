"""Creates schemas and views again from the catalog's facts about them.

In: facts, by the names of `CatalogStore.java`. Out: SQL; views are created in an order in which each finds
the objects that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from audit.spark.sessions import new_session
from audit.time_travel.retention.periods import PREFIX
from lineage.names import sql_name, sql_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
# Spark 4.2 keeps the SQL settings of a view's creation under this prefix, and reads the view under them
# (CatalogTable.VIEW_SQL_CONFIG_PREFIX).
_SETTING = "view.sqlConfig."
MARK = PREFIX + "drop"
"""A property of a schema: the event of its unfinished DROP or UNDROP."""
CREATED = PREFIX + "createdOn"
"""A property of a schema: its creation time, UTC microseconds. Spark's CatalogDatabase (4.2) has none."""


def created_on(schema: Mapping[str, Any]) -> int | None:
    """When a schema was created, UTC microseconds; None for one of a session without audit.

    >>> created_on({"properties": {"timeTravel.createdOn": "1719418800000000"}})
    1719418800000000

    Args:
        schema: facts by the names of `CatalogStore.java`.
    """
    created = schema.get("properties", {}).get(CREATED, "")
    return int(created) if created.isdecimal() else None


def schema_clauses(
    facts: Mapping[str, Any], location: str | None = None, *, restored_from: str | None = None
) -> str:
    """The clauses after the name that create a schema with these facts.

    >>> schema_clauses({"comment": "c", "properties": {"a": "b", "owner": "root"}})
    " COMMENT 'c' WITH DBPROPERTIES ('a' = 'b')"

    Args:
        facts: by the names of `CatalogStore.java`.
        location: of the schema, None for where Spark puts it.
        restored_from: the drop that UNDROP reverses.
    """
    clauses = f" COMMENT {sql_text(facts['comment'])}" if facts.get("comment") else ""
    if location is not None:
        clauses += f" LOCATION {sql_text(location)}"
    # Spark (4.2) sets `owner` itself and refuses it in DBPROPERTIES: it is a reserved property of namespaces.
    kept = {name: value for name, value in facts["properties"].items() if name not in ("owner", MARK)}
    kept |= {} if restored_from is None else {MARK: restored_from}
    pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in kept.items())
    return clauses + (f" WITH DBPROPERTIES ({pairs})" if pairs else "")


def create_view(
    own: SparkSession, name: Sequence[str], facts: Mapping[str, Any], current: Sequence[str]
) -> None:
    """Create a view by its text, under the settings and current schema of its first creation.

    Raises:
        AnalysisException: Spark cannot resolve it, for now.
    """
    # In a session of its own: the settings and the current schema are the view's.
    session = new_session(own)
    for key, value in facts["properties"].items():
        if key.startswith(_SETTING):
            session.conf.set(key.removeprefix(_SETTING), value)
    session.sql(f"USE {sql_name(current)}")
    columns = ", ".join(_column(column) for column in facts["columns"])
    comment = f" COMMENT {sql_text(facts['comment'])}" if facts.get("comment") else ""
    session.sql(f"CREATE VIEW {sql_name(name)} ({columns}){comment} AS {facts['view_text']}")


def _column(column: Mapping[str, str | None]) -> str:
    comment = column["comment"]
    return sql_name([column["name"] or ""]) + (f" COMMENT {sql_text(comment)}" if comment else "")


def make_all(objects: Sequence[T], make: Callable[[T], None]) -> list[T]:
    """Create views in an order that works: a view that Spark refuses is tried again after the others.

    Returns:
        The views that Spark still refuses: they read missing objects.
    """
    left = list(objects)
    while left:
        waiting = [one for one in left if not _is_made(one, make)]
        if len(waiting) == len(left):
            break
        left = waiting
    return left


def _is_made(one: T, make: Callable[[T], None]) -> bool:
    from pyspark.errors import AnalysisException

    try:
        make(one)
    except AnalysisException:
        return False
    return True
