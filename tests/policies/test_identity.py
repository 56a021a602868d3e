"""Who asks: no setting, local property, thread or frame lends one user the rights of another."""

from __future__ import annotations

import asyncio
import threading

import pytest
from py4j.protocol import Py4JJavaError
from pyspark import pandas
from pyspark.ml.feature import StringIndexer
from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener

import audit
from audit import attached_sessions, testing
from tests.sessions import NO_TABLES

ATTACH = NO_TABLES
NOBODY = "nobody is known to run it"


@pytest.fixture(scope="module")
def secrets(session):
    """A table whose names hal alone sees, who has role HR; the session's own user ann has it, too."""
    run = session.sql
    run("CREATE SCHEMA kept")
    run("CREATE ROLE hr")
    run("GRANT ROLE hr TO USER hal")
    run("GRANT ROLE hr TO USER ann")
    run(
        "CREATE MASKING POLICY kept.hush AS (v STRING) RETURNS STRING ->"
        " CASE WHEN is_role_in_session('HR') THEN v ELSE '***' END"
    )
    run("CREATE TABLE kept.t (id INT, name STRING)")
    run("INSERT INTO kept.t VALUES (1, 'secret')")
    run("ALTER TABLE kept.t ALTER COLUMN name SET MASKING POLICY kept.hush")
    yield "kept.t"
    run("DROP SCHEMA kept CASCADE")


def _rows(frame):
    """What a frame shows past the front door: by the JVM's own methods."""
    context = frame.sparkSession.sparkContext
    none = context._gateway.new_array(context._jvm.java.lang.String, 0)
    return list(map(str, frame._jdf.select("name", none).collectAsList()))


@pytest.mark.filterwarnings("ignore::pyspark.pandas.utils.PandasAPIOnSparkAdviceWarning")
def test_calls_past_the_front_door(session, secrets):
    """Whoever ran what before on a thread, and whose frame it is: the block's user sees what they may."""
    frame = session.table(secrets)
    assert frame.first().name == "secret"
    assert _rows(frame) == ["[secret]"]
    with audit.as_user(session, "mallory"):
        assert _rows(frame) == ["[***]"]
        with audit.as_user(session, "hal"):
            assert _rows(frame) == ["[secret]"]
        assert _rows(frame) == ["[***]"]
        assert list(pandas.DataFrame(frame)["name"].to_numpy()) == ["***"]
        model = StringIndexer(inputCol="name", outputCol="n").fit(frame)
        assert model.labels == ["***"]
        # PySpark's own active session is the first of the process, which nobody has attached here.
        assert SparkSession.getActiveSession() is session
        assert list(pandas.read_table(secrets)["name"].to_numpy()) == ["***"]
    assert _rows(frame) == ["[secret]"]


def test_a_thread_of_nobody(session, secrets):
    """Missing is nobody: a thread that nothing is known of does not run as the session's user."""
    frame, found = session.table(secrets), []

    def read():
        try:
            found.append(_rows(frame))
        except Py4JJavaError as error:
            found.append(str(error.java_exception.getMessage()))

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert NOBODY in found[0], found
    rule = attached_sessions.find(session).services.enforcer._rule
    session.sparkContext.setLocalProperty(rule._property, None)
    try:
        with pytest.raises(Py4JJavaError, match=NOBODY):
            _rows(frame)
    finally:
        rule.set_thread_identity(rule.of_session(attached_sessions.find(session).session_id))


def test_a_setting_names_no_session(session, secrets):
    """No setting makes a session another one."""
    other = session.newSession()
    attached_sessions.find(other)
    mine = attached_sessions.find(session).session_id
    with audit.as_user(session, "mallory"):
        for name in ("spark.audit.session", "spark.audit.identity", "spark.audit.exempt"):
            session.sql(f"SET {name} = {mine}")
            session.conf.set(name, mine)
        assert _rows(session.table(secrets)) == ["[***]"]
        assert [row.name for row in session.table(secrets).collect()] == ["***"]
    for name in ("spark.audit.session", "spark.audit.identity", "spark.audit.exempt"):
        session.conf.unset(name)
    assert attached_sessions.find(session).session_id == mine


def test_sessions_of_several_users_on_one_thread(session, spark, secrets, root):
    """What passes the front door by in one session never runs as the user of the other."""
    other = spark.newSession()
    audit.attach(other, user="eve", root=str(root), durable=False, ingest_interval_seconds=3600, **ATTACH)
    try:
        mine, theirs = session.table(secrets), other.table(secrets)
        assert mine.first().name == "secret"
        assert _rows(theirs) == ["[***]"]
        assert theirs.first().name == "***"
        assert _rows(mine) == ["[secret]"]
    finally:
        audit.detach(other)


def test_tasks_on_one_thread(session, secrets):
    """Tasks of asyncio take turns in blocks of their own: past the front door each is nobody."""
    frame, found = session.table(secrets), {}

    async def ask(user, turn, done):
        with audit.as_user(session, user):
            await turn.wait()
            found[user] = [frame.first().name]
            done.set()
            await asyncio.sleep(0)
            try:
                found[user] += _rows(frame)
            except Py4JJavaError as error:
                found[user] += [NOBODY in str(error.java_exception.getMessage())]

    async def both():
        first, second, end = asyncio.Event(), asyncio.Event(), asyncio.Event()
        first.set()
        await asyncio.gather(ask("mallory", second, end), ask("hal", first, second))

    asyncio.run(both())
    assert found == {"hal": ["secret", True], "mallory": ["***", True]}


def test_a_listener_runs_as_who_has_added_it(session, secrets, tmp_path):
    """A callback of the JVM is its registrar's, not the session's."""
    found, done = [], threading.Event()

    class Listener(StreamingQueryListener):
        def onQueryStarted(self, event):  # noqa: N802 - Spark's name
            pass

        def onQueryProgress(self, event):  # noqa: N802 - Spark's name
            pass

        def onQueryTerminated(self, event):  # noqa: N802 - Spark's name
            try:
                found.append(session.table(secrets).first().name)
            finally:
                done.set()

    listener = Listener()
    with audit.as_user(session, "mallory"):
        session.streams.addListener(listener)
        query = session.readStream.format("rate").load().writeStream.format("noop")
        query.option("checkpointLocation", str(tmp_path)).trigger(
            availableNow=True
        ).start().awaitTermination()
    assert done.wait(30)
    session.streams.removeListener(listener)
    assert found == ["***"]
    users = {one.query.user_name for one in testing.records(session) if "kept.t" in one.query.query_text}
    assert "mallory" in users
