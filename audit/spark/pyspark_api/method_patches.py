"""Methods of PySpark's and Delta's classes, replaced by wrappers and put back.

In: a class, the name of a method, a wrapper. Out: the method leads through the wrapper until `remove`. What
an exception's traceback shows of a wrapped call is the user's line and PySpark's own frames.
"""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark import traceback_utils

from audit.core.errors import AuditError

if TYPE_CHECKING:
    from types import TracebackType

_PACKAGE = f"{Path(__file__).parents[2]}{os.sep}"
Call = Callable[[Callable[..., Any], Any, tuple[Any, ...], dict[str, Any]], Any]
"""What a wrapper does: the original function, the object that it is called on, arguments, named arguments."""


@dataclass(frozen=True, slots=True)
class _Patch:
    """One replaced attribute; `original` is None where the owner had inherited it."""

    owner: Any
    name: str
    original: Any
    replacement: Any


@dataclass(frozen=True, slots=True)
class MethodPatches:
    """All that is replaced."""

    _patches: list[_Patch] = field(default_factory=list)

    def wrap(self, owner: type, name: str, wrapper: Call) -> None:
        """Replace a method, classmethod, staticmethod or cached property of a class."""
        # An inherited method is wrapped in the subclass alone, and `remove` deletes the wrapper there.
        own = owner.__dict__.get(name)
        original = own if own is not None else getattr(owner, name)
        self._put(owner, name, own, _replacement(name, original, wrapper))

    def wrap_call_site(self) -> None:
        """Have Spark's UI show the user's line of a `collect`, not the one of a wrapper that passes it on."""
        original = traceback_utils.first_spark_call
        self._put(traceback_utils, "first_spark_call", original, _users_call(original))

    def _put(self, owner: Any, name: str, original: Any, replacement: Any) -> None:
        self._patches.append(_Patch(owner, name, original, replacement))
        setattr(owner, name, replacement)

    def remove(self) -> None:
        """Put the originals back; what another library has replaced since stays as that library left it."""
        while self._patches:
            patch = self._patches.pop()
            if vars(patch.owner).get(patch.name) is not patch.replacement:
                continue  # its patch calls ours, which finds no audited session and passes the call on
            if patch.original is None:
                delattr(patch.owner, patch.name)
            else:
                setattr(patch.owner, patch.name, patch.original)


def _replacement(name: str, original: Any, wrapper: Call) -> Any:
    """A replacement of the same kind: method, classmethod, staticmethod or property."""
    # `DataFrame.rdd` is one (PySpark 4.2).
    if isinstance(original, functools.cached_property):
        get = _cached(original, name)

        @functools.wraps(get)
        def looked_at(self: Any) -> Any:
            try:
                return wrapper(get, self, (), {})
            except BaseException as error:
                _hide(error)
                raise

        return property(looked_at)
    kind = type(original) if isinstance(original, (classmethod, staticmethod)) else None
    function = original.__func__ if kind else original

    @functools.wraps(function)
    def replacement(*args: Any, **kwargs: Any) -> Any:
        try:
            if kind is staticmethod:
                return wrapper(lambda _self, *a, **k: function(*a, **k), args[0], args, kwargs)
            return wrapper(function, args[0], args[1:], kwargs)
        except BaseException as error:
            _hide(error)
            raise

    return kind(replacement) if kind else replacement


def _cached(original: functools.cached_property[Any], name: str) -> Callable[[Any], Any]:
    """The value of a cached property; each look at it is led through the wrapper."""

    @functools.wraps(original.func)
    def get(self: Any) -> Any:
        # The wrapper is a property, which hides the instance's value; the value is kept where cached_property
        # keeps it.
        if name not in self.__dict__:
            self.__dict__[name] = original.func(self)
        return self.__dict__[name]

    return get


def _hide(error: BaseException) -> None:
    """Take this package's frames out of an error's traceback, and of the errors that it came from.

    A bare `raise` after it keeps the traceback as it is then: CPython adds a frame where an exception first
    passes it, not where it is raised again (3.11 and later; 3.10 puts the wrapper's one frame back). An error
    that is raised in this package and is none of its own is a bug: its frames stay.
    """
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        one.__traceback__ = _without_ours(one)
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _without_ours(error: BaseException) -> TracebackType | None:
    kept: list[TracebackType] = []
    entry, is_ours = error.__traceback__, False
    while entry is not None:
        is_ours = entry.tb_frame.f_code.co_filename.startswith(_PACKAGE)
        if not is_ours:
            kept.append(entry)
        entry = entry.tb_next
    if is_ours and not isinstance(error, AuditError):
        return error.__traceback__
    chain: TracebackType | None = None
    for entry in reversed(kept):
        # A traceback's frames cannot be removed, but its links can be set (Python 3.7).
        entry.tb_next = chain
        chain = entry
    return chain


def _users_call(original: Callable[[], Any]) -> Callable[[], Any]:
    def first_spark_call() -> Any:
        site = original()
        if site is None or not site.file.startswith(_PACKAGE):
            return site
        frames = [frame for frame, _ in traceback.walk_stack(None)]  # the innermost first
        # PySpark takes the first frame outside of its own package, which is our wrapper.
        ours = max(i for i, frame in enumerate(frames) if frame.f_code.co_filename == site.file)
        for frame in frames[ours + 1 :]:
            if not frame.f_code.co_filename.startswith(_PACKAGE):
                return site._replace(file=frame.f_code.co_filename, linenum=frame.f_lineno)
        return site

    return first_spark_call
