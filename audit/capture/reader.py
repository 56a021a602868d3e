"""Readers that ask for the past: options `versionAsOf` and `timestampAsOf`, `table("t@v3")`, `load("/t@v3")`.

In: such a call on an audited session. Out: the same call of the version that Time Travel has found for it, so
that a DataFrame is under the same rule as SQL. Without a point in time it is the call as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from audit import jvm
from lineage.names import sql_name, sql_text

if TYPE_CHECKING:
    from audit.capture.interceptor import Interceptor

_VERSION, _TIMESTAMP = "versionAsOf", "timestampAsOf"


def session_table(
    interceptor: Interceptor,
    original: Callable[..., Any],
    session: Any,
    tableName: Any,  # noqa: N803  as PySpark names it
) -> Any:
    """`spark.table(name)`, which takes `t@v3` as well.

    Raises:
        TimeTravelError: a point that cannot be had.
    """
    if isinstance(tableName, str) and "@" in tableName:
        return reader_table(interceptor, _table, session.read, tableName)
    return original(session, tableName)


def _table(reader: Any, name: str) -> Any:
    return reader._df(reader._jreader.table(name))


def reader_table(interceptor: Interceptor, original: Callable[..., Any], reader: Any, tableName: Any) -> Any:  # noqa: N803
    """`reader.table(name)`.

    Raises:
        TimeTravelError: a point that cannot be had.
    """
    found = _found(interceptor, reader, tableName) if isinstance(tableName, str) else None
    if found is None:
        return original(reader, tableName)
    parts, version = found
    with jvm.at_version(reader, version):
        return original(reader, sql_name(parts))


def reader_load(
    interceptor: Interceptor,
    original: Callable[..., Any],
    reader: Any,
    path: Any = None,
    format: str | None = None,  # noqa: A002  as PySpark names it
    schema: Any = None,
    **options: Any,
) -> Any:
    """`reader.load(path)` with what else it takes (PySpark 4.2).

    Raises:
        TimeTravelError: a point that cannot be had.
    """
    if format is not None:
        reader.format(format)
    if schema is not None:
        reader.schema(schema)
    reader.options(**options)
    option = jvm.reader_option(reader, "path")
    place = option if path is None else path
    both = option is not None and path is not None  # Spark refuses it
    if isinstance(place, str) and jvm.reader_format(reader) != "delta":
        interceptor.driver.policies.governor.require_no_files(interceptor.spark, place)
    if both or not isinstance(place, str) or jvm.reader_format(reader) != "delta":
        return original(reader, path)
    # Delta tells a path from a name by its slash.
    found = _found(interceptor, reader, sql_name(("delta", place if "/" in place else f"./{place}")))
    if found is None:
        return original(reader, path)
    parts, version = found
    with jvm.at_version(reader, version):
        return original(reader, parts[-1])


def _found(interceptor: Interceptor, reader: Any, name: str) -> tuple[tuple[str, ...], int] | None:
    """What a reader reads and its version; None where it asks for none, or Spark has to say what is wrong."""
    version, timestamp = (jvm.reader_option(reader, option) for option in (_VERSION, _TIMESTAMP))
    if version is not None and timestamp is not None:
        return None
    point = ""
    if version is not None:
        point = f" VERSION AS OF {sql_text(version)}"
    elif timestamp is not None:
        point = f" TIMESTAMP AS OF {sql_text(timestamp)}"
    elif "@" not in name:
        return None
    return interceptor.driver.time_travel.found(interceptor.spark, f"SELECT * FROM {name}{point}")  # noqa: S608
