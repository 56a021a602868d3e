"""Tracebacks of audited and of other sessions are PySpark's: the user's line, then PySpark's own frames."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import audit

pytestmark = pytest.mark.spark
PACKAGE = str(Path(audit.__file__).parent)

CALLS = {
    "a query that cannot be resolved": lambda session: session.sql("SELECT nope FROM range(1)"),
    "a statement that cannot be parsed": lambda session: session.sql("SELEC 1"),
    "a command that fails": lambda session: session.sql("DROP TABLE tracebacks_nowhere"),
    "a table that is not there": lambda session: session.table("tracebacks_nowhere"),
    "an action that fails": lambda session: session.sql("SELECT raise_error('mine')").collect(),
    "a writer that fails": lambda session: session.range(1).write.saveAsTable("tracebacks_nowhere.t"),
    "a view of a bad name": lambda session: session.range(1).createOrReplaceTempView("a.b.c"),
    "an argument of a wrong type": lambda session: session.range(1).select(object()),
}


def _failure(call, session):
    with pytest.raises(Exception) as caught:  # noqa: PT011  whatever PySpark raises
        call(session)
    return caught.value


def _frames(error):
    return [(Path(frame.filename).name, frame.name) for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("name", CALLS)
def test_no_frame_is_ours(spark, audited, name):
    """Neither in the error nor in what it came from; the frames are the same, audited or not."""
    for session in (audited, spark.newSession()):
        error = _failure(CALLS[name], session)
        assert PACKAGE not in "".join(traceback.format_exception(error))
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        assert files[:2] == [__file__, __file__]  # `_failure`, and the call's line
        assert "pyspark" in files[2]
    assert _frames(_failure(CALLS[name], audited)) == _frames(_failure(CALLS[name], spark.newSession()))


def test_the_frames_are_those_of_pyspark_itself(spark, audited):
    """Called past the wrapper, the same error has the same frames."""
    text = "SELECT nope FROM range(1)"
    session = spark.newSession()
    assert SparkSession.sql.__module__.startswith("pyspark")
    plain = _frames(_failure(lambda one: SparkSession.sql.__wrapped__(one, text), session))
    assert _frames(_failure(lambda one: one.sql(text), session)) == plain
    assert _frames(_failure(lambda one: one.sql(text), audited)) == plain


def test_a_refusal_shows_the_users_line(audited):
    """An error of the audit's own ends at the call: its text says what to do."""
    error = _failure(
        lambda session: session.sql("COPY INTO t FROM '/nowhere' FILEFORMAT = NONSENSE"), audited
    )
    assert isinstance(error, audit.errors.AuditError)
    assert {Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)} == {Path(__file__)}


def test_the_cause_is_kept(audited):
    """What Spark said stays behind an error of the audit's own that came from it."""
    error = _failure(lambda session: session.sql("SELECT nope FROM range(1)"), audited)
    assert isinstance(error, PySparkException)
    assert error.getCondition().startswith("UNRESOLVED_COLUMN")
