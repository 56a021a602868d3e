"""The wrappers around PySpark's and Delta's methods, by the places that `surface` gives them.

In: a call on a PySpark object. Out: the same call, led through its session's `Interceptor` where there
is one. Installed with the first attach of a process, removed with the last detach.
"""

from __future__ import annotations

import functools
import importlib
import os
import traceback
from collections.abc import Callable, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pyspark import traceback_utils

from audit import jvm
from audit.analysis.job import Intent
from audit.analysis.untagged import RunOf
from audit.capture.interceptor import Interceptor
from audit.capture.reader import reader_load, reader_table, session_table
from audit.capture.streaming import bind_batches, start_stream
from audit.capture.surface import DATAFRAME, OWN_PLAN, READER, SESSION, STREAM_WRITER, SURFACE, Methods, Place
from lineage.names import qualify, split_name
from policies.errors import AccessDeniedError
from policies.governor import refusal_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
Find = Callable[["SparkSession"], Interceptor | None]
Stopping = Callable[["SparkSession"], None]


@dataclass(slots=True)
class FrontDoor:
    """The installed wrappers; `find` gives a session's interceptor, or None."""

    find: Find
    originals: list[tuple[Any, str, Any]]

    def remove(self) -> None:
        """Put PySpark's own methods back."""
        while self.originals:
            owner, name, original = self.originals.pop()
            if original is None:
                delattr(owner, name)
            else:
                setattr(owner, name, original)


def install(find: Find, stopping: Stopping) -> FrontDoor:
    """Wrap every method that `surface` places as running, analysing or changing something.

    Args:
        find: gives a session's interceptor, or None.
        stopping: told of a session whose `stop` has been called, before it stops.
    """
    door = FrontDoor(find, [])
    for methods in SURFACE:
        owner = _load(methods.owner)
        for name in sorted({*methods.runs, *methods.analyses, *(methods.changes or {})}):
            _wrap(door, owner, name, _wrapper_for(methods, name))
    _wrap(door, _load(STREAM_WRITER.owner), "foreachBatch", _foreach_batch)
    session = _load(SESSION.owner)
    _wrap(door, session, "newSession", _new_session)
    _wrap(door, session, "stop", _stop(stopping))
    door.originals.append((traceback_utils, "first_spark_call", traceback_utils.first_spark_call))
    traceback_utils.first_spark_call = _users_call(traceback_utils.first_spark_call)
    return door


def _users_call(original: Callable[[], Any]) -> Callable[[], Any]:
    """What Spark's UI shows as the line of a `collect`: the user's, not the one in here that passes it on."""

    def first_spark_call() -> Any:
        site = original()
        if site is None or not site.file.startswith(_PACKAGE):
            return site
        frames = [frame for frame, _ in traceback.walk_stack(None)]  # the innermost first
        ours = max(i for i, frame in enumerate(frames) if frame.f_code.co_filename == site.file)
        for frame in frames[ours + 1 :]:
            if not frame.f_code.co_filename.startswith(_PACKAGE):
                return site._replace(file=frame.f_code.co_filename, linenum=frame.f_lineno)
        return site

    return first_spark_call


Wrapper = Callable[[Find, Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


def _wrap(door: FrontDoor, owner: type, name: str, wrapper: Wrapper) -> None:
    own = owner.__dict__.get(name)
    original = own if own is not None else getattr(owner, name)
    door.originals.append((owner, name, own))
    setattr(owner, name, _rebind(door, name, original, wrapper))


def _rebind(door: FrontDoor, name: str, original: Any, wrapper: Wrapper) -> Any:
    """A replacement of the same kind: method, classmethod, staticmethod or property."""
    if isinstance(original, functools.cached_property):
        get = _cached(original, name)
        return property(functools.wraps(get)(lambda self: wrapper(door.find, get, self, (), {})))
    kind = type(original) if isinstance(original, (classmethod, staticmethod)) else None
    function = original.__func__ if kind else original

    @functools.wraps(function)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        if kind is staticmethod:
            return wrapper(door.find, lambda _self, *a, **k: function(*a, **k), args[0], args, kwargs)
        return wrapper(door.find, function, args[0], args[1:], kwargs)

    return kind(replacement) if kind else replacement


def _cached(original: functools.cached_property[Any], name: str) -> Callable[[Any], Any]:
    """The value of a cached property; each look at it passes the front door."""

    @functools.wraps(original.func)
    def get(self: Any) -> Any:
        if name not in self.__dict__:
            self.__dict__[name] = original.func(self)
        return self.__dict__[name]

    return get


def _wrapper_for(methods: Methods, name: str) -> Wrapper:
    if methods is SESSION and name == "sql":
        return _sql
    if methods is STREAM_WRITER:
        return _stream
    action = f"{methods.owner.rsplit('.', 1)[1]}.{name}"
    if (methods is SESSION and name == "table") or (methods is READER and name in _PAST):
        return _refusing(action, _reads(session_table if methods is SESSION else _PAST[name]))
    place = methods.place(name)
    if methods.owner.endswith("DeltaTable") and name in _OF_TABLES:
        return _OF_TABLES[name]
    if place is Place.ANALYSES:
        return _refusing(action, _GUARDED.get((methods.owner, name), _analysed))
    query_type = {**methods.runs, **(methods.changes or {})}[name]
    return _recorded(query_type, action, changes=place is Place.CHANGES)


def _refusing(action: str, wrapper: Wrapper) -> Wrapper:
    """Nothing runs, and so nothing is on record but what is refused."""

    def refusing(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        try:
            return wrapper(find, original, self, args, kwargs)
        except Exception as error:
            refusal = error if isinstance(error, AccessDeniedError) else refusal_of(error)
            interceptor = None if refusal is None else _interceptor_of(find, self, args, kwargs)
            if refusal is None or interceptor is None or interceptor.is_busy():
                raise
            intent = _intent(self, "SELECT", action, args, changes=False)
            tried = _tried(interceptor, action, self, (*args, *kwargs.values()))
            interceptor.record_failure(replace(intent, objects_tried=tried), refusal)
            if refusal is error:
                raise
            raise refusal from error

    return refusing


def _tried(interceptor: Interceptor, action: str, self: Any, args: tuple[Any, ...]) -> tuple[str, ...]:
    """What a call was about: names of tables in full, paths as they are; () where its DataFrame says it."""
    if action == "DeltaTable.history":
        return (jvm.location_of(self),)
    if not action.startswith(("DataFrameReader.", "SparkSession.")):
        return ()
    given = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    asked = tuple(one for one in given if isinstance(one, str))
    if not action.endswith(".table"):
        return asked
    current = interceptor.current_schema()
    return tuple(".".join(qualify(split_name(one.partition("@")[0]), current)) for one in asked)


def _recorded(query_type: str, action: str, *, changes: bool) -> Wrapper:
    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        interceptor = _interceptor_of(find, self, args, kwargs)
        if interceptor is None or interceptor.is_busy():
            return original(self, *args, **kwargs)
        if not changes and _is_result(self):  # the command itself is on record; this hands its result over
            with interceptor.quiet():
                return original(self, *args, **kwargs)
        entered = _is_frame(self)
        mine = interceptor.own(self) if entered else self
        intent = _intent(mine, query_type, action, args, changes=changes)
        result = interceptor.run(
            intent, lambda: interceptor.write(action, original, mine, args, kwargs), entered=entered
        )
        return _given_back(result, mine, self)

    return wrapper


def _vacuum(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = _interceptor_of(find, self, args, kwargs)
    hours = args[0] if args else kwargs.get("retentionHours")
    if interceptor is None or interceptor.is_busy() or hours is None:
        return _recorded("VACUUM", "DeltaTable.vacuum", changes=False)(find, original, self, args, kwargs)

    def call(*given: Any, **named: Any) -> Any:
        location = jvm.location_of(self)
        interceptor.driver.time_travel.require_kept(interceptor.spark, ("delta", location), float(hours))
        return original(*given, **named)

    return _recorded("VACUUM", "DeltaTable.vacuum", changes=False)(find, call, self, args, kwargs)


def _intent(self: Any, query_type: str, action: str, args: tuple[Any, ...], *, changes: bool) -> Intent:
    noted = getattr(self, "__dict__", {})
    statement = None if changes else noted.get("_audit_statement")
    frame = None if changes else _frame_of(self)
    parent = noted.get("_audit_parent")
    query_execution = None if frame is None else frame._jdf.queryExecution
    return Intent(
        text=statement.text if statement is not None else _call_text(action, args),
        query_type=statement.statement_type if statement is not None else query_type,
        action=action,
        statement=statement,
        query_execution=query_execution,
        claim=RunOf(query_execution) if query_execution is not None and action in OWN_PLAN else None,
        rows=_rows,
        changes_session=changes,
        parent=parent[0] if parent else None,
    )


def _call_text(action: str, args: tuple[Any, ...]) -> str:
    shown = ", ".join(repr(a) for a in args if isinstance(a, (str, int, bool, float)))
    return f"{action}({shown})"


def _rows(result: Any) -> int | None:
    """Rows that the caller got, where the result says it."""
    if isinstance(result, bool) or result is None:
        return None
    if isinstance(result, int):
        return 1
    rows = getattr(result, "num_rows", None)
    if isinstance(rows, int):
        return rows
    is_table = isinstance(result, list) or (type(result).__name__ == "DataFrame" and hasattr(result, "iloc"))
    return len(result) if is_table and isinstance(result, Sized) else None


def _sql(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = find(self)
    text = args[0] if args else kwargs.get("sqlQuery")
    if interceptor is None or interceptor.is_busy() or not isinstance(text, str):
        return original(self, *args, **kwargs)
    rest = {name: value for name, value in kwargs.items() if name != "sqlQuery"}

    def run(session: Any, sent: str) -> Any:
        return original(session, sent, *args[1:], **rest)

    return interceptor.sql(text, run, templated=bool(set(rest) - {"args"}))


def _stream(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = find(self._spark)
    if interceptor is None or interceptor.is_busy():
        return original(self, *args, **kwargs)
    return start_stream(
        interceptor, self, original.__name__, args, kwargs, lambda: original(self, *args, **kwargs)
    )


def _foreach_batch(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = find(self._spark)
    function = args[0] if args else kwargs.get("func")
    if interceptor is None or not callable(function):
        return original(self, *args, **kwargs)
    return original(self, bind_batches(interceptor, self, function))


def _analysed(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = _interceptor_of(find, self, args, kwargs)
    if interceptor is None:
        return original(self, *args, **kwargs)
    mine = interceptor.own(self) if _is_frame(self) and not interceptor.is_busy() else self
    with interceptor.quiet():
        return _given_back(original(mine, *args, **kwargs), mine, self)


def _history(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    interceptor = _interceptor_of(find, self, args, kwargs)
    if interceptor is not None and not interceptor.is_busy():
        with interceptor.quiet():
            interceptor.driver.policies.governor.require_history(interceptor.spark, jvm.location_of(self))
    return _analysed(find, original, self, args, kwargs)


def _reads_files(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    """Readers of files, which look into these for their schema."""
    interceptor = _interceptor_of(find, self, args, kwargs)
    if interceptor is not None and not interceptor.is_busy():
        given = args or kwargs.values()
        places = [one for paths in given for one in (paths if isinstance(paths, (list, tuple)) else [paths])]
        with interceptor.quiet():
            for place in places:
                if isinstance(place, str):
                    interceptor.driver.policies.governor.require_no_files(interceptor.spark, place)
    return _analysed(find, original, self, args, kwargs)


def _tells(what: str, *asked: str) -> Wrapper:
    """What tells of whole tables, hidden rows included: always, or where it is asked by one of some words."""

    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        interceptor = _interceptor_of(find, self, args, kwargs)
        words = {word.lower() for word in (*args, *kwargs.values()) if isinstance(word, str)}
        if interceptor is not None and not interceptor.is_busy() and (not asked or words & {*asked}):
            with interceptor.quiet():
                interceptor.driver.policies.governor.require_all_shown(interceptor.spark, self, what)
        return _analysed(find, original, self, args, kwargs)

    return wrapper


_OF_TABLES: dict[str, Wrapper] = {
    "vacuum": _vacuum, "history": _refusing("DeltaTable.history", _history),
}  # fmt: skip
_GUARDED: dict[tuple[str, str], Wrapper] = {
    (DATAFRAME.owner, "inputFiles"): _tells("the names of the files"),
    (DATAFRAME.owner, "explain"): _tells("estimates", "cost"),
    **{(READER.owner, name): _reads_files for name in ("csv", "json", "orc", "parquet", "text", "xml")},
}
_PAST: dict[str, Callable[..., Any]] = {"table": reader_table, "load": reader_load}


def _reads(read: Callable[..., Any]) -> Wrapper:
    """What may ask for the past."""

    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        interceptor = _interceptor_of(find, self, args, kwargs)
        if interceptor is None or interceptor.is_busy():
            return original(self, *args, **kwargs)
        with interceptor.quiet():
            return read(interceptor, original, self, *args, **kwargs)

    return wrapper


def _new_session(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    child = original(self, *args, **kwargs)
    interceptor = find(self)
    if interceptor is not None:
        interceptor.driver.adopt(child, interceptor.identity)
    return child


def _stop(stopping: Stopping) -> Wrapper:
    def wrapper(_find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        stopping(self)
        return original(self, *args, **kwargs)

    return wrapper


def _is_result(self: Any) -> bool:
    """Whether a DataFrame only holds what a command has returned already."""
    return bool(getattr(self, "__dict__", {}).get("_audit_done"))


def _is_frame(self: Any) -> bool:
    return "_jdf" in getattr(self, "__dict__", {})


def _given_back(result: Any, mine: Any, users: Any) -> Any:
    """What a call has returned, and has changed about a user's own DataFrame, as of the one called."""
    if mine is not users and "is_cached" in mine.__dict__:
        users.is_cached = mine.is_cached
    return users if result is mine else result


def _frame_of(self: Any) -> Any:
    """The DataFrame that a call reads: itself, or what a writer writes."""
    if hasattr(type(self), "_jdf") or "_jdf" in getattr(self, "__dict__", {}):
        return self
    return getattr(self, "__dict__", {}).get("_df")


def _interceptor_of(
    find: Find, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Interceptor | None:
    session = _session_of(self, (*args, *kwargs.values()))
    return find(session) if session is not None else None


_SESSION_ATTRIBUTES = ("_session", "_spark", "_sparkSession", "session", "sparkSession")


def _session_of(self: Any, args: tuple[Any, ...]) -> SparkSession | None:
    """The session that an object belongs to, or that a class method is given."""
    if _is_session(self):
        return cast("SparkSession", self)
    for name in _SESSION_ATTRIBUTES:
        value = getattr(self, "__dict__", {}).get(name)
        if _is_session(value):
            return cast("SparkSession", value)
    frame = getattr(self, "__dict__", {}).get("_df")
    if frame is not None:
        return _session_of(frame, ())
    return next((cast("SparkSession", a) for a in args if _is_session(a)), None)


def _is_session(value: Any) -> bool:
    return isinstance(value, _load(SESSION.owner))


@functools.cache
def _load(path: str) -> type:
    module, name = path.rsplit(".", 1)
    found: type = getattr(importlib.import_module(module), name)
    return found
