"""The wrappers of PySpark's and Delta's methods, by their class in `api_surface`.

In: a call on a PySpark object. Out: the same call, passed through the `AuditedSession` of its session if
there is one. Installed with the first attach of a process, removed with the last detach.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sized
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from audit.analysis.execution_claims import PlanRunClaim
from audit.analysis.work_items import StatementRequest
from audit.capture import api_statements
from audit.capture.audited_session import AuditedSession
from audit.capture.session_settings import Changes
from audit.capture.streaming import InCallback, bind_batches, bind_listener, start_stream
from audit.capture.time_travel_readers import reader_load, reader_table, session_table
from audit.policies.enforcement.enforcer import refusal_of
from audit.policies.errors import AccessDeniedError
from audit.spark.pyspark_api import frames
from audit.spark.pyspark_api.api_surface import (
    DATAFRAME,
    MAKES_RDD,
    OWN_PLAN,
    READER,
    SESSION,
    STREAM_WRITER,
    SURFACE,
    MethodKind,
    Methods,
)
from audit.spark.pyspark_api.method_patches import MethodPatches
from audit.spark.pyspark_api.sql_template import SqlTemplate
from audit.spark.sessions import of_block
from lineage.names import qualify, split_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Find = Callable[["SparkSession"], AuditedSession | None]
STREAMS = "pyspark.sql.streaming.query.StreamingQueryManager"
Wrapper = Callable[[Find, Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]


def install(
    find: Find,
    adopt: Callable[[AuditedSession, SparkSession], None],
    stopping: Callable[[SparkSession], None],
    in_callback: InCallback,
) -> MethodPatches:
    """Wrap every method that `api_surface` lists as running, analysing or changing something.

    Args:
        find: gives the `AuditedSession` of a session, or None.
        adopt: called with an audited session and a new session that it created.
        stopping: called with a session before its `stop`.
        in_callback: gives a block for what the JVM calls for.
    """
    patches = MethodPatches()
    for methods in SURFACE:
        owner = _load(methods.owner)
        for name in sorted({*methods.runs, *methods.analyses, *(methods.changes or {})}):
            patches.wrap(owner, name, partial(_wrapper_for(methods, name), find))
    patches.wrap(_load(STREAM_WRITER.owner), "foreachBatch", partial(_foreach_batch, find))
    patches.wrap(_load(STREAMS), "addListener", partial(_add_listener(in_callback), find))
    for name in ("set", "unset"):
        patches.wrap(_load("pyspark.sql.conf.RuntimeConfig"), name, partial(_setting, find))
    session = _load(SESSION.owner)
    patches.wrap(session, "newSession", partial(_new_session(adopt), find))
    patches.wrap(session, "stop", partial(_stop(stopping), find))
    patches.wrap(session, "getActiveSession", partial(_active_session, find))
    patches.wrap_call_site()
    return patches


def _wrapper_for(methods: Methods, name: str) -> Wrapper:
    if methods in (SESSION, STREAM_WRITER) and name in _OF_SESSIONS:
        return _OF_SESSIONS[name]
    action = f"{methods.owner.rsplit('.', 1)[1]}.{name}"
    if (methods is SESSION and name == "table") or (methods is READER and name in _PAST):
        return _refusing(action, _reads(session_table if methods is SESSION else _PAST[name]))
    kind = methods.kind_of(name)
    if action in api_statements.ACTIONS:
        query_type = {**methods.runs, **(methods.changes or {})}[name]
        return _as_statement(action, _recorded(query_type, action, changes=kind is MethodKind.CHANGES))
    if methods.owner.endswith("DeltaTable") and name in _OF_TABLES:
        return _OF_TABLES[name]
    if kind is MethodKind.ANALYSES:
        return _refusing(action, _GUARDED.get((methods.owner, name), _analysed))
    query_type = {**methods.runs, **(methods.changes or {})}[name]
    return _recorded(query_type, action, changes=kind is MethodKind.CHANGES)


def _refusing(action: str, wrapper: Wrapper) -> Wrapper:
    """Wrap a method that runs nothing, so that only a refusal is recorded."""

    def refusing(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        try:
            return wrapper(find, original, self, args, kwargs)
        except Exception as error:
            refusal = error if isinstance(error, AccessDeniedError) else refusal_of(error)
            audited = None if refusal is None else _audited(find, self, args, kwargs)
            if refusal is None or audited is None or audited.is_busy():
                raise
            request = _request(self, "SELECT", action, args, changes=False)
            tried = _tried(audited, action, self, (*args, *kwargs.values()))
            audited.record_failure(replace(request, objects_tried=tried), refusal)
            if refusal is error:
                raise
            raise refusal from error

    return refusing


def _tried(audited: AuditedSession, action: str, self: Any, args: tuple[Any, ...]) -> tuple[str, ...]:
    """The objects of a call: full names of tables, or paths; () if its DataFrame tells them."""
    if action == "DeltaTable.history":
        return (frames.location_of(self),)
    if not action.startswith(("DataFrameReader.", "SparkSession.")):
        return ()
    given = [one for arg in args for one in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    asked = tuple(one for one in given if isinstance(one, str))
    if not action.endswith(".table"):
        return asked
    current = audited.current_schema()
    return tuple(".".join(qualify(split_name(one.partition("@")[0]), current)) for one in asked)


def _recorded(query_type: str, action: str, *, changes: bool) -> Wrapper:
    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        audited = _audited(find, self, args, kwargs)
        if audited is None or audited.is_busy():
            return original(self, *args, **kwargs)
        if not changes and _is_result(self):  # the command itself is on record; this hands its result over
            with audited.quiet():
                return original(self, *args, **kwargs)
        entered = frames.is_frame(self)
        mine = audited.own(self) if entered else self
        request = _request(mine, query_type, action, args, changes=changes)
        result = audited.run(request, lambda: original(mine, *args, **kwargs), entered=entered)
        if action in MAKES_RDD:
            services = audited.services
            services.failures.guard(lambda: services.rdd_origins.remember(mine, result), None)
        return _given_back(result, mine, self)

    return wrapper


def _as_statement(action: str, otherwise: Wrapper) -> Wrapper:
    """Wrap a method that does what a statement of this project does: the statement runs."""

    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        audited = _audited(find, self, args, kwargs)
        if audited is None or audited.is_busy():
            return original(self, *args, **kwargs)
        text = api_statements.text_of(audited, action, original, self, args, kwargs)
        if text is None:
            return otherwise(find, original, self, args, kwargs)
        frame = audited.sql(text, lambda session, sent, _values: session.sql(sent), action=action)
        return api_statements.result_of(action, self, args, kwargs, frame)

    return wrapper


def _vacuum(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = _audited(find, self, args, kwargs)
    hours = args[0] if args else kwargs.get("retentionHours")
    # Without hours Delta obeys the table's own properties, which follow the retention.
    if audited is None or audited.is_busy() or hours is None:
        return _recorded("VACUUM", "DeltaTable.vacuum", changes=False)(find, original, self, args, kwargs)

    def call(*given: Any, **named: Any) -> Any:
        location = frames.location_of(self)
        audited.services.time_travel.require_kept(audited.spark, ("delta", location), float(hours))
        return original(*given, **named)

    return _recorded("VACUUM", "DeltaTable.vacuum", changes=False)(find, call, self, args, kwargs)


def _request(
    self: Any, query_type: str, action: str, args: tuple[Any, ...], *, changes: bool
) -> StatementRequest:
    noted = getattr(self, "__dict__", {})
    statement = None if changes else noted.get("_audit_statement")
    frame = None if changes else frames.frame_of(self)
    query_execution = None if frame is None else frames.query_execution_of(frame)
    return StatementRequest(
        text=statement.text if statement is not None else _call_text(action, args),
        query_type=statement.statement_type if statement is not None else query_type,
        action=action,
        statement=statement,
        query_execution=query_execution,
        claim=PlanRunClaim(query_execution) if query_execution is not None and action in OWN_PLAN else None,
        rows=_rows,
        changes_session=changes,
        parent=noted.get("_audit_parent"),
        arguments=noted.get("_audit_arguments") if statement is not None else None,
    )


def _call_text(action: str, args: tuple[Any, ...]) -> str:
    shown = ", ".join(repr(a) for a in args if isinstance(a, (str, int, bool, float)))
    return f"{action}({shown})"


def _rows(result: Any) -> int | None:
    """The number of rows that the caller got, if the result tells it."""
    # In Python a bool is an int.
    if isinstance(result, bool) or result is None:
        return None
    if isinstance(result, int):
        return 1
    rows = getattr(result, "num_rows", None)
    if isinstance(rows, int):
        return rows
    # Pandas is not imported for this: importing it takes half a second.
    is_table = isinstance(result, list) or (type(result).__name__ == "DataFrame" and hasattr(result, "iloc"))
    return len(result) if is_table and isinstance(result, Sized) else None


def _sql(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = find(self)
    text = args[0] if args else kwargs.get("sqlQuery")
    if audited is None or audited.is_busy() or not isinstance(text, str):
        return original(self, *args, **kwargs)
    # Further keywords are values of {…} templates (PySpark 4.2).
    rest = {name: value for name, value in kwargs.items() if name not in ("sqlQuery", "args")}
    given = args[1] if len(args) > 1 else kwargs.get("args")

    template = SqlTemplate(self, rest) if rest else None
    return audited.sql(text, original, arguments=given, template=template)


def _stream(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = _audited(find, self, (), {})
    if audited is None or audited.is_busy():
        return original(self, *args, **kwargs)
    return start_stream(
        audited, self, original.__name__, args, kwargs, lambda: original(self, *args, **kwargs)
    )


def _foreach_batch(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = _audited(find, self, (), {})
    function = args[0] if args else kwargs.get("func")
    if audited is None or not callable(function):
        return original(self, *args, **kwargs)
    return original(self, bind_batches(audited, self, function))


def _add_listener(in_callback: InCallback) -> Wrapper:
    def wrapper(_find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        bind_listener(args[0] if args else kwargs.get("listener"), in_callback)
        return original(self, *args, **kwargs)

    return wrapper


def _analysed(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = _audited(find, self, args, kwargs)
    if audited is None:
        return original(self, *args, **kwargs)
    mine = audited.own(self) if frames.is_frame(self) and not audited.is_busy() else self
    with audited.quiet():
        return _given_back(original(mine, *args, **kwargs), mine, self)


def _history(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited, shows_all = _audited(find, self, args, kwargs), True
    if audited is not None and not audited.is_busy():
        with audited.quiet():
            shows_all = audited.services.enforcer.require_history(audited.spark, frames.location_of(self))
    found = _analysed(find, original, self, args, kwargs)
    return found if shows_all else frames.without_values(found, "operationParameters")


def _reads_files(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    """Wrap readers of files, which read these to infer a schema."""
    audited = _audited(find, self, args, kwargs)
    if audited is not None and not audited.is_busy():
        given = args or kwargs.values()
        places = [one for paths in given for one in (paths if isinstance(paths, (list, tuple)) else [paths])]
        with audited.quiet():
            for place in places:
                if isinstance(place, str):
                    audited.services.enforcer.require_no_files(audited.spark, place)
    return _analysed(find, original, self, args, kwargs)


def _explain(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    audited = _audited(find, self, args, kwargs)
    words = {word.lower() for word in (*args, *kwargs.values()) if isinstance(word, str)}
    if audited is not None and not audited.is_busy():
        with audited.quiet():
            enforcer = audited.services.enforcer
            enforcer.require_explainable(audited.spark, self, is_cost="cost" in words)
    return _analysed(find, original, self, args, kwargs)


def _tells(what: str) -> Wrapper:
    """Wrap methods with facts about whole tables, hidden rows included."""

    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        audited = _audited(find, self, args, kwargs)
        if audited is not None and not audited.is_busy():
            with audited.quiet():
                audited.services.enforcer.require_all_shown(audited.spark, self, what)
        return _analysed(find, original, self, args, kwargs)

    return wrapper


_OF_TABLES: dict[str, Wrapper] = {
    "vacuum": _vacuum, "history": _refusing("DeltaTable.history", _history),
}  # fmt: skip
_OF_SESSIONS: dict[str, Wrapper] = {"sql": _sql, "start": _stream, "toTable": _stream}
_GUARDED: dict[tuple[str, str], Wrapper] = {
    (DATAFRAME.owner, "inputFiles"): _tells("the names of the files"),
    (DATAFRAME.owner, "explain"): _explain,
    **{(READER.owner, name): _reads_files for name in ("csv", "json", "orc", "parquet", "text", "xml")},
}
_PAST: dict[str, Callable[..., Any]] = {"table": reader_table, "load": reader_load}


def _reads(read: Callable[..., Any]) -> Wrapper:
    """Wrap readers that may name an old version."""

    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        audited = _audited(find, self, args, kwargs)
        if audited is None or audited.is_busy():
            return original(self, *args, **kwargs)
        with audited.quiet():
            return read(audited, original, self, *args, **kwargs)

    return wrapper


def _new_session(adopt: Callable[[AuditedSession, SparkSession], None]) -> Wrapper:
    def wrapper(find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        child = original(self, *args, **kwargs)
        audited = find(self)
        if audited is not None:
            adopt(audited, child)
        return child

    return wrapper


def _stop(stopping: Callable[[SparkSession], None]) -> Wrapper:
    def wrapper(_find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
        # Before Spark stops: the last records need its JVM.
        stopping(self)
        return original(self, *args, **kwargs)

    return wrapper


def _setting(_find: Find, original: Callable[..., Any], self: Any, args: Any, kwargs: Any) -> Any:
    original(self, *args, **kwargs)
    Changes.note(args[0] if args else kwargs.get("key"))


def _active_session(_find: Find, original: Callable[..., Any], cls: Any, args: Any, kwargs: Any) -> Any:
    found = of_block()
    return original(cls, *args, **kwargs) if found is None else found


def _is_result(self: Any) -> bool:
    """Whether a DataFrame only holds what a command has returned already."""
    return bool(getattr(self, "__dict__", {}).get("_audit_done"))


def _given_back(result: Any, mine: Any, users: Any) -> Any:
    """The result of a call on a copy, with changes of the copy applied to the user's own DataFrame."""
    # `cache`, `persist` and `unpersist` note their effect in this attribute (PySpark 4.2).
    if mine is not users and "is_cached" in mine.__dict__:
        users.is_cached = mine.is_cached
    return users if result is mine else result


def _audited(find: Find, self: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AuditedSession | None:
    candidates = (
        frames.session_held_by(self),
        # DeltaTable.forName and its like are class methods that get the session as an argument.
        *(one for one in (*args, *kwargs.values()) if frames.is_session(one)),
    )
    session = next((one for one in candidates if one is not None), None)
    return find(session) if session is not None else None


@functools.cache
def _load(path: str) -> type:
    module, name = path.rsplit(".", 1)
    found: type = getattr(importlib.import_module(module), name)
    return found
