"""Wrapped methods leave no trace: not in a traceback, and not when they are taken away."""

from __future__ import annotations

import functools
import traceback

import pytest

import lineage
from audit.copy_into import read_parameters
from audit.core.errors import CopyError
from audit.core.guard import attempt
from audit.spark.pyspark_api.method_patches import MethodPatches, _hide


class Frame:
    """Stands for a class of PySpark's."""

    def collect(self, text):
        """Fails as Spark does."""
        return _below(text)

    @classmethod
    def made(cls, text):
        """The same of a class."""
        return _below(text)

    @staticmethod
    def plain(text):
        """The same of no class."""
        return _below(text)

    @functools.cached_property
    def found(self):
        """The same of a property."""
        return _below("a property")


class Child(Frame):
    """Inherits."""


def _below(text):
    raise KeyError(text)


def _through(original, self, args, kwargs):
    """A wrapper with frames of the package: the guard's."""

    def again(error):
        raise error

    return attempt(lambda: original(self, *args, **kwargs), again)


def _frames(call):
    with pytest.raises(KeyError) as caught:
        call()
    return [(frame.name, frame.lineno) for frame in traceback.extract_tb(caught.value.__traceback__)]


CALLS = {
    "collect": lambda: Frame().collect("a"),
    "made": lambda: Frame.made("a"),
    "plain": lambda: Frame.plain("a"),
    "found": lambda: Frame().found,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_traceback_is_as_without_the_wrapper(name):
    """The user's line first, then the original's frames, and none of this package."""
    call, patches = CALLS[name], MethodPatches()
    plain = [frame for frame in _frames(call) if frame[0] != "__get__"]  # functools looks a property up
    patches.wrap(Frame, name, lambda original, self, args, kwargs: original(self, *args, **kwargs))
    try:
        wrapped = _frames(call)
    finally:
        patches.remove()
    mine = [frame for frame in wrapped if frame[0] != "<lambda>" or frame in plain]
    assert mine == plain
    assert "replacement" not in {frame[0] for frame in wrapped}


def test_frames_of_the_package_go_wherever_they_stand():
    """Between the user's and Spark's, and in what an error came from."""
    patches = MethodPatches()
    patches.wrap(Frame, "collect", _through)
    try:
        with pytest.raises(KeyError) as caught:
            Frame().collect("a")
    finally:
        patches.remove()
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not [file for file in files if "/audit/" in file and "/tests/" not in file]
    assert [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)][-1] == "_below"


def test_a_bug_of_the_package_keeps_its_frames():
    """An error that the package raises without meaning to says where; one that it means to does not."""

    def bug(_original, _self, _args, _kwargs):
        return attempt(lambda: None, None) or attempt(_below, 5)  # the guard itself calls what it cannot

    def refuse(_original, _self, _args, _kwargs):
        raise CopyError("no", "leave it")

    patches = MethodPatches()
    for wrapper, error, ours in ((bug, TypeError, True), (refuse, CopyError, False)):
        patches.wrap(Frame, "collect", wrapper)
        with pytest.raises(error) as caught:
            Frame().collect("a")
        patches.remove()
        files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert any(file.endswith(("/guard.py", "/method_patches.py")) for file in files) is ours


def test_an_error_of_the_package_alone_ends_at_the_call():
    """All frames below the call are the package's: none is left."""
    tree = lineage.parse("COPY INTO t FROM '/p' PATTERN = '.*'").tree
    with pytest.raises(CopyError, match="PATTERN") as caught:
        read_parameters(tree)
    error = caught.value
    error.__traceback__ = error.__traceback__.tb_next  # without this test's own
    assert error.__traceback__ is not None
    _hide(error)
    assert error.__traceback__ is None


def test_what_was_there_stands_again():
    """The very objects, and nothing where the class had inherited."""
    before = dict(vars(Frame))
    patches = MethodPatches()
    for name in CALLS:
        patches.wrap(Frame, name, _through)
    patches.wrap(Child, "collect", _through)
    assert vars(Frame)["collect"] is not before["collect"]
    patches.remove()
    assert {name: vars(Frame)[name] for name in CALLS} == {name: before[name] for name in CALLS}
    assert "collect" not in vars(Child)


def test_what_another_library_has_put_in_since_stays():
    """Its patch is not lost, and calls through to the original."""
    patches = MethodPatches()
    patches.wrap(Frame, "plain", lambda original, self, args, kwargs: original(self, *args, **kwargs))
    ours = Frame.plain

    def theirs(text):
        try:
            return ours(text)
        except KeyError:
            return f"theirs: {text}"

    original = Frame.__dict__["plain"]
    Frame.plain = staticmethod(theirs)
    try:
        patches.remove()
        assert Frame.plain("a") == "theirs: a"
    finally:
        Frame.plain = original
        patches = MethodPatches()
