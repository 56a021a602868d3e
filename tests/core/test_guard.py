"""The guard keeps failures of the audit's own from statements, counts them, and says each once."""

from __future__ import annotations

import logging

import pytest

from audit.core.guard import Failures, attempt


def _fail(text):
    raise ValueError(text)


def test_a_failure_gives_the_other_value():
    """What is raised ends in the fallback; what is not passes."""
    failures = Failures()
    assert failures.guard(lambda: 5, 7) == 5
    assert failures.guard(lambda: _fail("no"), 7, "q1") == 7
    assert failures.recent == (("q1", "ValueError: no"),)


def test_what_ends_the_process_is_no_failure():
    """KeyboardInterrupt and SystemExit pass."""

    def stop():
        raise KeyboardInterrupt

    failures = Failures()
    with pytest.raises(KeyboardInterrupt):
        failures.guard(stop, None)
    with pytest.raises(SystemExit):
        attempt(lambda: exit(1), lambda _: None)  # noqa: PLR1722  what a user's code may call
    assert failures.count == 0


def test_what_is_kept_is_bounded_and_all_is_counted():
    """The newest are kept."""
    failures = Failures(kept=3)
    for number in range(10):
        failures.guard(lambda number=number: _fail(number), None)
    assert failures.count == 10
    assert failures.recent == (("", "ValueError: 7"), ("", "ValueError: 8"), ("", "ValueError: 9"))


def test_each_place_is_logged_once(caplog):
    """By the type of the error and its place, with the traceback; each application has its own list."""
    failures = Failures()
    with caplog.at_level(logging.WARNING, logger="audit"):
        for _ in range(3):
            failures.guard(lambda: _fail("again"), None)
            failures.guard(lambda: 1 // 0, None)
    told = [record.getMessage() for record in caplog.records]
    assert ["ValueError: again" in told[0], "ZeroDivisionError" in told[1], len(told)] == [True, True, 2]
    assert all("Traceback" in text for text in told)
    assert {record.name for record in caplog.records} == {"audit"}
    with caplog.at_level(logging.WARNING, logger="audit"):
        Failures().guard(lambda: _fail("again"), None)
    assert len(caplog.records) == 3


def test_what_is_kept_and_logged_of_a_failure_is_redacted(caplog):
    """An error may quote a statement; its traceback is part of the message, where no handler can undo it."""
    failures = Failures(lambda text: text.replace("hunter2", "?"))
    with caplog.at_level(logging.WARNING, logger="audit"):
        failures.guard(lambda: _fail("near 'hunter2'"), None, "q1")
    assert failures.recent == (("q1", "ValueError: near '?'"),)
    assert "hunter2" not in caplog.text
    assert "near '?'" in caplog.text


def test_a_library_leaves_logging_alone():
    """The packages' loggers have a handler that does nothing, no level, and are not cut off."""
    for name in ("audit", "lineage", "views"):
        __import__(name)
        logger = logging.getLogger(name)
        assert [type(handler) for handler in logger.handlers] == [logging.NullHandler]
        assert (logger.level, logger.propagate) == (logging.NOTSET, True)
