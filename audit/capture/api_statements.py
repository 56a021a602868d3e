"""Calls of PySpark's and Delta's APIs that are statements of this project: they run as these.

In: a call on a `Catalog` or a `DeltaTable`. Out: the text of the statement that does the same, so that what
the API drops, clones or restores obeys retention as SQL does; None for a call that Spark or Delta runs, or
refuses.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from audit.spark.pyspark_api import frames
from lineage.names import delta_path, split_name, sql_name, sql_text

if TYPE_CHECKING:
    from audit.capture.audited_session import AuditedSession

_CONVERSION = "DeltaTable.convertToDelta"
_Text = Callable[["AuditedSession", Any, Mapping[str, Any]], "str | None"]


def text_of(
    audited: AuditedSession, action: str, original: Callable[..., Any], self: Any, args: Any, kwargs: Any
) -> str | None:
    """The statement of a call; None where the call itself is made, or its arguments are wrong."""
    given = _arguments(original, self, args, kwargs)
    return None if given is None else _TEXTS[action](audited, self, given)


def _arguments(original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Mapping[str, Any] | None:
    """The arguments of a call by their names; None where they do not fit."""
    try:
        bound = inspect.signature(original).bind(self, *args, **kwargs)
    except TypeError:
        return None  # the call raises its own error
    bound.apply_defaults()
    return bound.arguments


def result_of(action: str, self: Any, args: Any, kwargs: Any, frame: Any) -> Any:
    """What the call gives, of the result of its statement."""
    if action in _CLONES:
        # The target stands first where there is no point.
        place = kwargs.get("target") or args[0 if action == "DeltaTable.clone" else 1]
        return frames.java_table(self, place, is_path=_is_path(place))
    if action == _CONVERSION:
        given = dict(zip(("sparkSession", "identifier"), args, strict=False)) | kwargs
        *_, place = split_name(given["identifier"])
        if _is_path(place):
            return self.forPath(given["sparkSession"], place)
        return self.forName(given["sparkSession"], given["identifier"])
    return frame if action.startswith("DeltaTable.") else None


def _is_path(target: str) -> bool:
    # As Delta (4.4) tells a path from a name.
    return target.startswith("/") or ":/" in target


def _drop(noun: str, parameter: str) -> _Text:
    def text(_audited: AuditedSession, _self: Any, given: Mapping[str, Any]) -> str | None:
        name = given[parameter]
        if not isinstance(name, str):
            return None
        words = ["DROP", noun, *(["IF EXISTS"] if given["ifExists"] else []), sql_name(split_name(name))]
        words += ["CASCADE"] if given.get("cascade") else []
        words += ["PURGE"] if given.get("purge") else []
        return " ".join(words)

    return text


def _point(given: Mapping[str, Any]) -> str:
    if "version" in given:
        return f"VERSION AS OF {int(given['version'])}"
    return f"TIMESTAMP AS OF {sql_text(str(given['timestamp']))}" if "timestamp" in given else ""


def _restore(audited: AuditedSession, self: Any, given: Mapping[str, Any]) -> str | None:
    if not isinstance(given.get("version", 0), int) or not isinstance(given.get("timestamp", ""), str):
        return None
    text = f"RESTORE TABLE {_name(audited, self)} TO {_point(given)}"
    # The API does nothing where the table is at that version, and SQL tells of it.
    with audited.quiet():
        does = audited.services.time_travel.restores(audited.spark, text)
    return text if does else None


def _clone(audited: AuditedSession, self: Any, given: Mapping[str, Any]) -> str | None:
    target, properties = given["target"], given["properties"] or {}
    # Delta (4.4) refuses deep clones here, and checks the types of the arguments.
    if given["isShallow"] is not True or not isinstance(target, str):
        return None
    name = delta_path(target) if _is_path(target) else sql_name(split_name(target))
    pairs = ", ".join(f"{sql_text(str(key))} = {sql_text(str(value))}" for key, value in properties.items())
    words = [
        "CREATE OR REPLACE TABLE" if given["replace"] else "CREATE TABLE", name, "SHALLOW CLONE",
        _name(audited, self), _point(given), f"TBLPROPERTIES ({pairs})" if pairs else "",
    ]  # fmt: skip
    return " ".join(word for word in words if word)


def _convert(_audited: AuditedSession, _self: Any, given: Mapping[str, Any]) -> str | None:
    # As Delta (4.4) names its parameters. Delta itself runs no plan for the call, so no rule would see it.
    identifier, columns = given["identifier"], given["partitionSchema"]
    if not isinstance(identifier, str):
        return None
    if columns is not None and not isinstance(columns, str):
        columns = ", ".join(f"{sql_name([one.name])} {one.dataType.simpleString()}" for one in columns)
    return f"CONVERT TO DELTA {identifier}" + (f" PARTITIONED BY ({columns})" if columns else "")


def _name(audited: AuditedSession, table: Any) -> str:
    """The name of a `DeltaTable` in the catalog, or its path."""
    location = frames.location_of(table)
    with audited.quiet():
        return sql_name(audited.services.time_travel.name_at(audited.spark, location))


_TEXTS: Mapping[str, _Text] = {
    "Catalog.dropTable": _drop("TABLE", "tableName"),
    "Catalog.dropView": _drop("VIEW", "viewName"),
    "Catalog.dropDatabase": _drop("SCHEMA", "dbName"),
    "DeltaTable.restoreToVersion": _restore,
    "DeltaTable.restoreToTimestamp": _restore,
    "DeltaTable.clone": _clone,
    "DeltaTable.cloneAtVersion": _clone,
    "DeltaTable.cloneAtTimestamp": _clone,
    _CONVERSION: _convert,
}
_CLONES = frozenset(action for action, text in _TEXTS.items() if text is _clone)
ACTIONS = frozenset(_TEXTS)
"""Class and method of the calls that may be statements of this project."""
