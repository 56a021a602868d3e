"""Making schemas and views again from what the catalog knew of them.

In: facts, by the names of `Catalog.java`. Out: SQL, and the objects, in whatever order they need each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lineage.names import sql_name, sql_text
from time_travel.retention import PREFIX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
# Where a view keeps the settings that it was made with (Spark, CatalogTable.VIEW_SQL_CONFIG_PREFIX).
_SETTING = "view.sqlConfig."
MARK = PREFIX + "drop"
"""Of the properties of a schema: the drop of it that has begun, or that is being undone."""
CREATED = PREFIX + "createdOn"
"""Of the properties of a schema: when it was made, UTC microseconds, which Spark's catalog does not keep."""


def created_on(schema: Mapping[str, Any]) -> int | None:
    """When a schema was made, UTC microseconds; None for one that another session has made.

    >>> created_on({"properties": {"timeTravel.createdOn": "1719418800000000"}})
    1719418800000000

    Args:
        schema: facts by the names of `Catalog.java`.
    """
    said = schema.get("properties", {}).get(CREATED, "")
    return int(said) if said.isdigit() else None


def schema_clauses(
    facts: Mapping[str, Any], location: str | None = None, *, restored_from: str | None = None
) -> str:
    """What follows the name in the CREATE SCHEMA of a schema that is, or was, so.

    >>> schema_clauses({"comment": "c", "properties": {"a": "b", "owner": "root"}})
    " COMMENT 'c' WITH DBPROPERTIES ('a' = 'b')"

    Args:
        facts: by the names of `Catalog.java`.
        location: of the schema, None for where Spark puts it.
        restored_from: the drop that is being undone.
    """
    clauses = f" COMMENT {sql_text(facts['comment'])}" if facts.get("comment") else ""
    if location is not None:
        clauses += f" LOCATION {sql_text(location)}"
    kept = {name: value for name, value in facts["properties"].items() if name not in ("owner", MARK)}
    kept |= {} if restored_from is None else {MARK: restored_from}
    pairs = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in kept.items())
    return clauses + (f" WITH DBPROPERTIES ({pairs})" if pairs else "")


def create_view(
    own: SparkSession, name: Sequence[str], facts: Mapping[str, Any], current: Sequence[str]
) -> None:
    """A view of a text, under the settings that it was made with and a current catalog and schema.

    Raises:
        AnalysisException: Spark cannot resolve it, for now.
    """
    session = own.newSession()
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
    """Make each, in whatever order works: those that Spark refuses wait until the others are there.

    Returns:
        Those that nothing here can mend: a view over what is not there.
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
