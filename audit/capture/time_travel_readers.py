"""Readers of old versions: options `versionAsOf` and `timestampAsOf`, `table("t@v3")`, `load("/t@v3")`.

In: such a call on an audited session. Out: the same call with the version number that Time Travel allows, so
that DataFrames follow the same retention as SQL. A call without a point in time is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from audit.spark.pyspark_api import readers
from lineage.names import sql_name, sql_text

if TYPE_CHECKING:
    from audit.capture.audited_session import AuditedSession
    from audit.time_travel.versions.reading import VersionToRead

_VERSION, _TIMESTAMP = "versionAsOf", "timestampAsOf"


def session_table(
    audited: AuditedSession,
    original: Callable[..., Any],
    session: Any,
    tableName: Any,  # noqa: N803  as PySpark names it
) -> Any:
    """`spark.table(name)`, which takes `t@v3` as well.

    Raises:
        TimeTravelError: there is no version at the point.
    """
    if isinstance(tableName, str) and "@" in tableName:
        return reader_table(audited, readers.read_table, session.read, tableName)
    return original(session, tableName)


def reader_table(audited: AuditedSession, original: Callable[..., Any], reader: Any, tableName: Any) -> Any:  # noqa: N803
    """`reader.table(name)`.

    Raises:
        TimeTravelError: there is no version at the point.
    """
    found = _found(audited, reader, tableName) if isinstance(tableName, str) else None
    if found is None:
        return original(reader, tableName)
    if found.kept:
        return _frame(audited, reader, found)
    with readers.at_version(reader, found.version):
        return original(reader, sql_name(found.name))


def reader_load(
    audited: AuditedSession,
    original: Callable[..., Any],
    reader: Any,
    path: Any = None,
    format: str | None = None,  # noqa: A002  as PySpark names it
    schema: Any = None,
    **options: Any,
) -> Any:
    """`reader.load(path)` with its further arguments (PySpark 4.2).

    Raises:
        TimeTravelError: there is no version at the point.
    """
    # As `load` of PySpark does it, but before the call: the options may name a version.
    if format is not None:
        reader.format(format)
    if schema is not None:
        reader.schema(schema)
    reader.options(**options)
    option = readers.reader_option(reader, "path")
    place = option if path is None else path
    both = option is not None and path is not None  # Spark refuses it
    if isinstance(place, str) and readers.reader_format(reader) != "delta":
        audited.services.enforcer.require_no_files(audited.spark, place)
    if both or not isinstance(place, str) or readers.reader_format(reader) != "delta":
        return original(reader, path)
    # Delta tells a path from a name by its slash.
    found = _found(audited, reader, sql_name(("delta", place if "/" in place else f"./{place}")))
    if found is None:
        return original(reader, path)
    # The schema of a reader, and a feed of changes, are for Delta to judge.
    if found.kept and schema is None and not readers.reader_option(reader, "readChangeFeed"):
        return _frame(audited, reader, found)
    with readers.at_version(reader, found.version):
        return original(reader, found.name[-1])


def _frame(audited: AuditedSession, reader: Any, found: VersionToRead) -> Any:
    """A version however old, which Delta's own readers would refuse."""
    options = readers.options_at_version(reader)
    return audited.services.time_travel.read_version(audited.spark, found, options)


def _found(audited: AuditedSession, reader: Any, name: str) -> VersionToRead | None:
    """The table of a reader and its version; None without a point in time, or if Spark raises its error."""
    version, timestamp = (readers.reader_option(reader, option) for option in (_VERSION, _TIMESTAMP))
    if version is not None and timestamp is not None:
        return None
    point = ""
    if version is not None:
        point = f" VERSION AS OF {sql_text(version)}"
    elif timestamp is not None:
        point = f" TIMESTAMP AS OF {sql_text(timestamp)}"
    elif "@" not in name:
        return None
    return audited.services.time_travel.version_read(audited.spark, f"SELECT * FROM {name}{point}")  # noqa: S608
