"""Sessions: who is audited, as whom, and what failed."""

from __future__ import annotations

import gc
import threading
from collections import Counter

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

import audit
from audit import attached_sessions
from audit.core.errors import AttachError, CopyError, IngestError, ProcedureError, SpoolUnavailableError
from audit.spool import find_spools
from audit.testing import records

pytestmark = pytest.mark.spark


def history(spark, user):
    """The rows of query_history of a user, oldest first."""
    return [record.query for record in records(spark) if record.query.user_name == user]


def access(spark, user):
    """The rows of access_history of a user."""
    return [row for record in records(spark) for row in record.access if row.user_name == user]


def test_attach_is_idempotent(audited):
    """A second attach gives the same session and doubles no record; it shows whose it is and where."""
    first = audit.attach(audited, user="tester", root=str(audit_root(audited)))
    assert first is audit.attach(audited, user="tester", root=str(audit_root(audited)))
    assert repr(first) == f"<audit of tester's session under {audit_root(audited)}>"
    with audit.as_user(audited, "once"):
        audited.sql("SELECT 1 AS one").collect()
    assert len(history(audited, "once")) == 1


def test_a_second_attach_cannot_change_what_holds(audited):
    """Another user or option is an error that names both; nothing asked for is nothing changed."""
    before = audited.__dict__["_audit"].identity
    assert audit.attach(audited) is audited.__dict__["_audit"]
    assert audited.__dict__["_audit"].identity == before
    with pytest.raises(AttachError, match=r"audited as .*tester.*not .*bob.*as_user"):
        audit.attach(audited, user="bob")
    with pytest.raises(AttachError, match="with retention_days = 365 in this application, not 7"):
        audit.attach(audited, retention_days=7)
    with pytest.raises(AttachError, match=r"with schema = 'account_usage' in this application, not 'other'"):
        audit.attach(audited.newSession(), root=audit_root(audited), schema="other")


def test_what_spark_runs_to_resolve_a_query_is_no_statement(audited, tmp_path):
    """Reading a Delta log anew, checkpoint and all, or the header of a CSV file behind a view: one record."""
    (tmp_path / "people.csv").write_text("id,name\n1,Ann\n")
    audited.sql(f"CREATE VIEW csv_people AS SELECT * FROM csv.`{tmp_path}/people.csv`")
    audited.sql("CREATE TABLE resolved (id INT) USING delta TBLPROPERTIES ('delta.checkpointInterval' = '2')")
    for number in range(5):
        audited.sql(f"INSERT INTO resolved VALUES ({number})")
    log = audited.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog
    queries = [
        "SELECT count(*) FROM resolved",
        "SELECT * FROM csv_people",
        "SELECT 1",
        "SELECT count(*) FROM resolved r",
    ]
    with audit.as_user(audited, "resolver"):
        for query in queries * 2:
            log.clearCache()
            audited.sql(query).collect()
            audited._audit.recorder.worker.drain()  # it has learnt what the query read
    assert [row.query_text for row in history(audited, "resolver")] == queries * 2
    assert {row.captured_by for row in access(audited, "resolver")} == {"text"}
    audited.sql("DROP VIEW csv_people")
    audited.sql("DROP TABLE resolved")


def test_a_query_that_spark_cannot_resolve_is_on_record_once(audited):
    """Spark reports it as an execution of its own; many at once, all of one text, are as many statements."""
    audited.sql("CREATE TABLE unresolved (id INT) USING delta")
    audited.sql("SELECT id FROM unresolved").collect()
    records(audited)  # from here on the table is known, and its queries are resolved without a tag

    def fail():
        for _ in range(5):
            with audit.as_user(audited, "mistaken"), pytest.raises(AnalysisException, match="nothing"):
                audited.sql("SELECT nothing FROM unresolved")

    threads = [threading.Thread(target=fail) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = history(audited, "mistaken")
    assert {(row.execution_status, *row.objects_tried) for row in rows} == {
        ("FAIL", "spark_catalog.default.unresolved")
    }
    assert len(rows) == 20
    assert not [
        row for row in history(audited, "tester") if row.query_text == "SELECT nothing FROM unresolved"
    ]
    audited.sql("DROP TABLE unresolved")


def test_another_sessions_failure_of_the_same_text_is_its_own(spark, audited):
    """A session that is not audited, just before: what Spark reports of it is no claim of the audited one."""
    plain = spark.newSession()
    text = "SELECT nothing, 'of the same text'"
    for session in (plain, audited) * 10:
        with pytest.raises(AnalysisException, match="nothing"):
            session.sql(text)
    rows = [row for row in history(audited, "tester") if row.query_text == text]
    ids = [session._jsparkSession.sessionUUID() for session in (plain, audited)]
    assert Counter(row.session_id for row in rows) == dict.fromkeys(ids, 10)


def test_each_collect_of_one_frame_is_on_record_once(audited):
    """It has no tag: its execution is known by the frame's plan, and one past the front door still is one."""
    audited.sql("CREATE TABLE shared USING delta AS SELECT id FROM range(100)")
    frame = audited.sql("SELECT id FROM shared WHERE id % 2 = 0")

    def collect(user):
        for _ in range(5):
            with audit.as_user(audited, user):
                assert len(frame.collect()) == 50

    users = [f"sharer{number}" for number in range(4)]
    threads = [threading.Thread(target=collect, args=(user,)) for user in users]
    for thread in threads:
        thread.start()
    with audit.as_user(audited, "passer-by"):
        frame._jdf.collectToPython()
    for thread in threads:
        thread.join()
    rows = [
        (record.query.user_name, record.query.execution_status, *(row.captured_by for row in record.access))
        for record in records(audited)
        if record.query.user_name in {*users, "passer-by"}
    ]
    assert Counter(rows) == {
        **dict.fromkeys(((user, "SUCCESS", "text") for user in users), 5),
        ("passer-by", "SUCCESS", "listener"): 1,
    }
    audited.sql("DROP TABLE shared")


def test_a_collect_knows_what_it_has_read(audited):
    """The bytes of its own execution; of a frame's second run Spark does not count them."""
    audited.sql("CREATE TABLE read_twice USING delta AS SELECT id FROM range(100)")
    with audit.as_user(audited, "reader"):
        frame = audited.sql("SELECT id FROM read_twice WHERE id % 2 = 0")
        frame.collect()
        records(audited)
        frame.collect()
        audited.sql("SELECT id FROM read_twice WHERE id % 2 = 0").collect()
    first, second, third = history(audited, "reader")
    assert first.bytes_scanned > 0
    assert second.bytes_scanned is None
    assert third.bytes_scanned == first.bytes_scanned
    audited.sql("DROP TABLE read_twice")


def test_sessions_are_kept_by_their_users_alone(audited):
    """A session for each request, thrown away after it, is no leak."""
    sessions = audited.__dict__["_audit"].services.sessions
    children = [audited.newSession() for _ in range(5)]
    ids = [child._jsparkSession.sessionUUID() for child in children]
    assert all(sessions.find(one) for one in ids)
    del children
    gc.collect()
    assert len([one for one in ids if sessions.find(one)]) <= 1  # PySpark itself holds the last one made


def test_a_detach_closes_though_sessions_were_made(spark, tmp_path):
    """What the attached session has made is no reason to stay; its statements run on, unrecorded."""
    session = spark.newSession()
    attached = audit.attach(session, user="ann", root=str(tmp_path), schema="brief_children")
    child = session.newSession()
    assert child.range(3).count() == 3
    audit.detach(session)
    assert attached.is_closed
    assert child.range(3).count() == 3
    again = audit.attach(child, user="bob", root=str(tmp_path), schema="brief_children")
    assert again.services is not attached.services
    audit.detach(child)
    spark.sql("DROP SCHEMA IF EXISTS brief_children CASCADE")


def test_a_detach_during_a_statement_keeps_its_result(spark, tmp_path):
    """What a procedure returns or raises is the caller's, though the audit is gone when it ends."""

    @audit.procedure
    def leave(session, error=None):
        audit.detach(session)
        if error:
            raise error
        return "done"

    def outcome(function, *args):
        try:
            return function(*args)
        except KeyError as raised:
            return repr(raised)

    for error in (None, KeyError("mine")):
        session = spark.newSession()
        audit.attach(session, user="ann", root=str(tmp_path), schema="brief_detach")
        with pytest.warns(UserWarning, match="is not on record"):
            assert outcome(leave, session, error) == (repr(error) if error else "done")
    spark.sql("DROP SCHEMA IF EXISTS brief_detach CASCADE")


def test_spark_stops_whatever_the_audit_does(spark, tmp_path, monkeypatch):
    """A driver that cannot be closed in order is warned of, and its spool is free for the next one."""
    session = spark.newSession()
    attached = audit.attach(session, user="ann", root=str(tmp_path), schema="brief_stop")
    application, recorder = attached_sessions._application_of(attached), attached.recorder
    monkeypatch.setattr(recorder.worker, "drain", lambda: 1 / 0)
    elsewhere = [a for a in attached_sessions._REGISTRY.applications.values() if a is not application]
    monkeypatch.setattr(attached_sessions._REGISTRY, "applications", {("", ""): application})
    with pytest.warns(UserWarning, match="did not close in order: ZeroDivisionError"):
        attached_sessions.stopping(spark)
    monkeypatch.undo()
    assert application.is_closed
    assert not any(d.is_closed for d in elsewhere)
    (info,) = find_spools(tmp_path)
    assert not info.alive
    assert [t for t in threading.enumerate() if t in (recorder.ingest._thread, recorder.worker._thread)] == []
    attached_sessions._forget_closed()
    spark.sql("DROP SCHEMA IF EXISTS brief_stop CASCADE")


def test_the_ui_shows_the_users_line(audited):
    """Spark names a query by the line that asked for it, which is not one of the audit's."""
    audited.range(3).collect()
    audited.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    shown = audited._jsparkSession.sharedState().statusStore().executionsList()
    said = [shown.apply(i).description() or "" for i in range(shown.size())]
    assert any(one.startswith(f"collect at {__file__}:") for one in said)
    assert not any("front_door" in one for one in said)


def test_suppressed_inside_suppressed(audited):
    """The inner block does not end the outer one, for the front door nor for the listener."""
    with audit.as_user(audited, "hidden"), audit.suppress():
        with audit.suppress():
            audited.range(3).count()
        audited._jsparkSession.range(5).count()
        audited.range(7).count()
    assert history(audited, "hidden") == []


def test_a_record_that_the_spool_refuses_is_written_later(audited, monkeypatch):
    """Of what passes the front door nothing else is on record: its record waits until the disk takes it."""
    spool = audited.__dict__["_audit"].recorder.spool
    worker = audited.__dict__["_audit"].recorder.worker

    def refuse(*_):
        raise SpoolUnavailableError("full", "free space")

    monkeypatch.setattr(spool, "record", refuse)
    with audit.as_user(audited, "late"):
        for number in range(3):
            audited._jsparkSession.range(number).count()
    with pytest.raises(IngestError, match=r"records of .* wait for the spool"):
        audit.flush(audited)
    assert worker.refused >= 3
    monkeypatch.undo()
    assert len(history(audited, "late")) == 3
    assert worker.refused == 0


def audit_root(spark):
    """The root that a session is audited under."""
    return spark.__dict__["_audit"].services.config.root


def test_another_root_is_refused(audited, tmp_path):
    """One session has one history; the error names both roots and the way out."""
    with pytest.raises(AttachError, match="detach") as error:
        audit.attach(audited, root=str(tmp_path))
    assert str(tmp_path) in str(error.value)


def test_parse_error_is_sparks_own_and_on_record(audited):
    """Text that Spark rejects raises Spark's error unchanged and is a FAIL without an access record."""
    with audit.as_user(audited, "typo"), pytest.raises(ParseException) as error:
        audited.sql("SELEC 1")
    assert error.value.getCondition() == "PARSE_SYNTAX_ERROR"
    (row,) = history(audited, "typo")
    assert (row.execution_status, row.error_code, row.query_text) == ("FAIL", "PARSE_SYNTAX_ERROR", "SELEC 1")
    assert access(audited, "typo") == []


def test_unknown_table_is_on_record_with_what_it_tried(audited):
    """A failed query says which objects it named."""
    with audit.as_user(audited, "lost"), pytest.raises(AnalysisException):
        audited.sql("SELECT * FROM nowhere.t JOIN u ON true")
    (row,) = history(audited, "lost")
    assert row.execution_status == "FAIL"
    assert row.objects_tried == ["spark_catalog.nowhere.t", "spark_catalog.default.u"]


def test_a_failure_while_running_is_on_record(audited):
    """An error of an executor is the statement's FAIL."""
    with audit.as_user(audited, "zero"), pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        audited.sql("SELECT 1 / id FROM range(2)").collect()
    (row,) = history(audited, "zero")
    assert (row.execution_status, row.error_code) == ("FAIL", "DIVIDE_BY_ZERO")


def test_new_session_is_audited_too(audited):
    """`newSession` leaves no gap."""
    child = audited.newSession()
    with audit.as_user(audited, "child"):
        child.range(3).count()
    (row,) = history(audited, "child")
    assert row.session_id == child._jsparkSession.sessionUUID()


def test_another_object_for_the_same_session_is_audited(audited):
    """A second Python object over one JVM session is the same session."""
    again = SparkSession(audited.sparkContext, audited._jsparkSession)
    with audit.as_user(audited, "again"):
        again.sql("SELECT 2 AS two").collect()
    assert len(history(audited, "again")) == 1


def test_two_users_in_two_threads_keep_their_names(audited):
    """Each record has its own user, text and id, however the threads interleave."""
    ready = threading.Barrier(2)

    def work(user):
        ready.wait()
        with audit.as_user(audited, user, roles=[f"{user}_role"]):
            for number in range(10):
                audited.sql(f"SELECT '{user}' AS who, {number} AS n").collect()

    threads = [threading.Thread(target=work, args=(u,)) for u in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rows = {user: history(audited, user) for user in ("ann", "bob")}
    for user, found in rows.items():
        assert [r.query_text for r in found] == [f"SELECT '{user}' AS who, {n} AS n" for n in range(10)]
        assert {r.role_name for r in found} == {f"{user}_role".upper()}
        assert len(access(audited, user)) == 10
    ids = [r.query_id for found in rows.values() for r in found]
    assert len(set(ids)) == 20


def test_a_procedure_is_a_plain_function(audited):
    """A generator or a coroutine would run after its call; a suppressed call is no record."""
    with pytest.raises(ProcedureError, match="generator or a coroutine"):

        @audit.procedure
        def lazily(spark):
            yield spark

    with pytest.raises(ProcedureError):

        @audit.procedure
        async def some_time(spark):
            return spark

    @audit.procedure
    def quietly(spark):
        return spark.range(3).count()

    with audit.as_user(audited, "quiet"), audit.suppress():
        assert quietly(audited) == 3
    assert history(audited, "quiet") == []


def test_procedure_is_the_parent_of_what_it_runs(audited):
    """A call is a record; its statements, and those of procedures inside, point at parent and root."""

    @audit.procedure
    def inner(spark):
        spark.sql("SELECT 3 AS three").collect()

    @audit.procedure
    def outer(spark):
        spark.sql("SELECT 4 AS four").collect()
        inner(spark)

    with audit.as_user(audited, "caller"):
        outer(audited)
    rows = {r.query_text.rsplit(".", 1)[-1]: r for r in history(audited, "caller")}
    root = rows["outer"]
    assert root.parent_query_id is None
    assert rows["SELECT 4 AS four"].parent_query_id == root.query_id
    assert rows["inner"].parent_query_id == root.query_id
    leaf = rows["SELECT 3 AS three"]
    assert (leaf.parent_query_id, leaf.root_query_id) == (rows["inner"].query_id, root.query_id)
    called = access(audited, "caller")[0].base_objects_accessed[0]
    assert called.objectDomain == "PROCEDURE"


def test_micro_batches_are_children_of_their_start(audited, tmp_path):
    """A stream leaves one record for its start and one for each micro-batch, with lineage."""
    with audit.as_user(audited, "flow"):
        audited.sql("CREATE SCHEMA IF NOT EXISTS flow")
        audited.sql("CREATE TABLE flow.source (a INT, b STRING) USING delta")
        audited.sql("INSERT INTO flow.source VALUES (1, 'x')")
        for _ in range(2):
            query = (
                audited.readStream.table("flow.source")
                .selectExpr("a", "upper(b) AS u")
                .writeStream.trigger(availableNow=True)
                .option("checkpointLocation", str(tmp_path / "checkpoint"))
                .toTable("flow.sink")
            )
            query.awaitTermination()
            audited.sql("INSERT INTO flow.source VALUES (2, 'y')")
    rows = history(audited, "flow")
    starts = [r for r in rows if r.query_type == "STREAM"]
    batches = [r for r in rows if r.query_type == "STREAM_BATCH"]
    assert len(starts) == 2
    assert [b.parent_query_id for b in batches] == [s.query_id for s in starts]
    found = {r.query_id: r for r in access(audited, "flow")}
    modified = found[batches[0].query_id].objects_modified[0]
    assert modified.objectName == "spark_catalog.flow.sink"
    sources = {c.columnName: [s.columnName for s in c.baseSources] for c in modified.columns}
    assert sources == {"a": ["a"], "u": ["b"]}
    assert found[batches[0].query_id].base_objects_accessed[0].objectName == "spark_catalog.flow.source"


@pytest.mark.parametrize("of_a_new_session", [False, True])
def test_what_a_foreach_batch_runs_points_at_its_batch(audited, tmp_path, of_a_new_session):
    """Statements of a foreachBatch function are children of the micro-batch, as the user who started it."""
    session = audited.newSession() if of_a_new_session else audited
    schema, user = f"flow2_{of_a_new_session}", f"each {of_a_new_session}"

    def each(batch, _number):
        batch.write.format("delta").mode("append").saveAsTable(f"{schema}.sink")

    with audit.as_user(audited, user):
        audited.sql(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        audited.sql(f"CREATE TABLE {schema}.source (a INT) USING delta")
        audited.sql(f"INSERT INTO {schema}.source VALUES (1)")
        stream = session.readStream.table(f"{schema}.source").writeStream.foreachBatch(each)
        stream.trigger(availableNow=True).option(
            "checkpointLocation", str(tmp_path / "c")
        ).start().awaitTermination()
    rows = history(audited, user)
    (batch,) = [r for r in rows if r.query_type == "STREAM_BATCH"]
    (write,) = [r for r in rows if r.action == "DataFrameWriter.saveAsTable"]
    assert write.parent_query_id == batch.query_id
    assert write.root_query_id == batch.root_query_id == batch.parent_query_id
    (row,) = [row for row in access(audited, user) if row.query_id == write.query_id]
    sources = [source for column in row.objects_modified[0].columns for source in column.baseSources]
    assert [(one.objectName, one.columnName) for one in sources] == [
        (f"spark_catalog.{schema.lower()}.source", "a")
    ]


def test_delta_versions_read_and_written(audited):
    """object_versions names the version read, and the one that the statement made."""
    with audit.as_user(audited, "versions"):
        audited.sql("CREATE SCHEMA IF NOT EXISTS ver")
        audited.sql("CREATE TABLE ver.t (a INT) USING delta")
        audited.sql("INSERT INTO ver.t VALUES (1)")
        audited.sql("INSERT INTO ver.t SELECT a + 1 FROM ver.t")
    history(audited, "versions")
    last = access(audited, "versions")[-1]
    assert {(v.access, v.version) for v in last.object_versions} == {("read", 1), ("write", 2)}


@pytest.mark.parametrize("engine", ["text", "plan"])
def test_two_versions_of_one_table(audited, engine):
    """A statement that reads a table at two points has both versions on record, once each."""
    user = f"two_{engine}"
    with audit.as_user(audited, user):
        audited.sql("CREATE SCHEMA IF NOT EXISTS ver")
        audited.sql(f"CREATE TABLE ver.{user} (a INT) USING delta")
        audited.sql(f"INSERT INTO ver.{user} VALUES (1)")
        audited.sql(f"INSERT INTO ver.{user} VALUES (2)")
        frame = audited.sql(
            f"SELECT x.a FROM ver.{user} VERSION AS OF 0 x JOIN ver.{user} VERSION AS OF 1 y ON x.a = y.a"
            f" JOIN ver.{user} VERSION AS OF 1 z ON x.a = z.a"
        )
        (frame if engine == "text" else frame.where("a > 0")).collect()
    history(audited, user)
    last = access(audited, user)[-1]
    assert last.captured_by == engine
    assert [(v.access, v.version) for v in last.object_versions] == [("read", 0), ("read", 1)]


def test_object_id_survives_a_rename(audited):
    """The same Delta table has the same objectId under its new name."""
    with audit.as_user(audited, "rename"):
        audited.sql("CREATE SCHEMA IF NOT EXISTS ren")
        audited.sql("CREATE TABLE ren.a (x INT) USING delta")
        audited.sql("SELECT x FROM ren.a").collect()
        audited.sql("ALTER TABLE ren.a RENAME TO ren.b")
        audited.sql("SELECT x FROM ren.b").collect()
    history(audited, "rename")
    read = [r.base_objects_accessed[0] for r in access(audited, "rename") if r.base_objects_accessed]
    assert [o.objectName for o in read] == ["spark_catalog.ren.a", "spark_catalog.ren.b"]
    assert len({o.objectId for o in read}) == 1
    assert len({o.columns[0].columnId for o in read}) == 1


def test_frames_of_rdds_are_of_the_users_session(spark, tmp_path):
    """PySpark's `rdd.toDF()` is of the session that was made last: never of one of the audit's own."""
    session = spark.newSession()
    audit.attach(session, user="ann", root=str(tmp_path), schema="of_rdds", durable=False, ingest="external")
    try:
        session.sql("CREATE SCHEMA of_rdds_s")
        session.sql("USE of_rdds_s")
        session.sql("CREATE TABLE of_rdds_s.t (a INT)")
        session.sql("DROP TABLE of_rdds_s.t")
        session.sql("UNDROP TABLE of_rdds_s.t")
        session.sql("CREATE TABLE of_rdds_s.u CLONE of_rdds_s.t")
        session.sql("SHOW TABLES IN of_rdds_s ->> SELECT * FROM $1").collect()
        frame = session.sparkContext.parallelize([(1,)]).toDF("a INT")
        assert frame.sparkSession is session
    finally:
        audit.detach(session)
        spark.sql("DROP SCHEMA of_rdds_s CASCADE")


def test_detach_takes_pysparks_methods_back(spark, tmp_path):
    """After the last detach PySpark is as it was, and nothing more is recorded."""
    from pyspark.sql.classic.dataframe import DataFrame

    session = spark.newSession()
    interceptor = audit.attach(session, user="brief", root=str(tmp_path), schema="brief")
    session.sql("SELECT 1 AS one").collect()
    audit.detach(session)
    session.sql("SELECT 2 AS two").collect()
    assert interceptor.is_closed
    rows = session.read.format("delta").load(str(tmp_path / "query_history")).collect()
    rows.sort(key=lambda row: row.query_id)
    assert [row.query_type for row in rows] == ["AUDIT_ATTACH", "SELECT", "AUDIT_DETACH"]
    assert rows[1].query_text == "SELECT 1 AS one"
    with pytest.raises(AttachError, match="attach"):
        audit.flush(session)
    del DataFrame


def test_copy_into_loads_and_unloads(audited, tmp_path):
    """COPY INTO, which Spark lacks, runs both ways; the path is a stage with its location."""
    out = str(tmp_path / "out")
    with audit.as_user(audited, "copy"):
        audited.sql("CREATE SCHEMA IF NOT EXISTS cp")
        audited.sql("CREATE TABLE cp.t (a INT, b STRING) USING delta")
        audited.sql("INSERT INTO cp.t VALUES (1, 'x'), (2, 'y')")
        left = audited.sql(f"COPY INTO '{out}' FROM cp.t FILE_FORMAT = (TYPE = CSV) HEADER = TRUE").collect()
        came = audited.sql(
            f"COPY INTO cp.t FROM '{out}' FILE_FORMAT = (TYPE = CSV SKIP_HEADER = 1)"
        ).collect()
        some = audited.sql(
            f"COPY INTO cp.t (b) FROM (SELECT upper($2) FROM '{out}')"
            " FILE_FORMAT = (TYPE = CSV SKIP_HEADER = 1)"
        ).collect()
        with pytest.raises(CopyError, match="PATTERN"):
            audited.sql(f"COPY INTO cp.t FROM '{out}' PATTERN = '.*'")
    assert [r.rows for r in (*left, *came, *some)] == [2, 2, 2]
    with audit.suppress():
        rows = audited.table("cp.t").orderBy("a", "b").collect()
    assert [tuple(r) for r in rows] == [(None, "X"), (None, "Y"), (1, "x"), (1, "x"), (2, "y"), (2, "y")]
    kinds = [(r.query_type, r.execution_status) for r in history(audited, "copy")][3:]
    assert kinds == [("UNLOAD", "SUCCESS"), ("COPY", "SUCCESS"), ("COPY", "SUCCESS"), ("COPY", "FAIL")]
    unload, load, _ = access(audited, "copy")[3:]
    assert (unload.objects_modified[0].objectDomain, unload.objects_modified[0].stageKind) == (
        "STAGE",
        "External Named",
    )
    assert unload.objects_modified[0].location.endswith(out)
    assert load.base_objects_accessed[0].location.endswith(out)
    assert load.objects_modified[0].objectName == "spark_catalog.cp.t"
