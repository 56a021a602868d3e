"""What other libraries and programs do around Spark: listeners, threads, sessions, tags, log messages."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor

from .job import Place, job

SPARK = "https://spark.apache.org/docs/latest/api/python/reference"
T = "CREATE TABLE t USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, v)"


@job(
    f"{SPARK}/pyspark.ss/api/pyspark.sql.streaming.StreamingQueryListener.html",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct t(id,v); writes copied(id<-t.id, v<-t.v)",
    given=T,
)
def a_listener_of_streams(at: Place) -> object:
    from pyspark.sql.streaming import StreamingQueryListener

    class Listener(StreamingQueryListener):
        def __init__(self):
            self.seen = []

        def onQueryStarted(self, event):  # noqa: N802  Spark's names
            self.seen.append("started")

        def onQueryProgress(self, event):  # noqa: N802
            if event.progress.numInputRows:
                self.seen.append(event.progress.numInputRows)

        def onQueryIdle(self, event):  # noqa: N802
            pass

        def onQueryTerminated(self, event):  # noqa: N802
            self.seen.append("terminated")

    listener = Listener()
    at.spark.streams.addListener(listener)
    at.finish(at.spark.readStream.table("t").writeStream, table="copied")
    while "terminated" not in listener.seen:
        pass
    at.spark.streams.removeListener(listener)
    return listener.seen


@job(
    "https://spark.apache.org/docs/latest/job-scheduling.html#scheduling-within-an-application",
    "SELECT text full; direct t(id)",
    "SELECT text full; direct t(id)",
    "SELECT text full; direct t(id)",
    given=T,
)
def queries_of_threads(at: Place) -> object:
    def count(number):
        return at.spark.sql(f"SELECT id + {number} AS n FROM t").collect()

    with ThreadPoolExecutor(3) as pool:
        return [sorted(row.n for row in rows) for rows in pool.map(count, range(3))]


@job(
    f"{SPARK}/api/pyspark.InheritableThread.html",
    "SELECT plan full; direct t()",
    given=T,
    long=True,
)
def properties_of_an_inheritable_thread(at: Place) -> object:
    from pyspark import InheritableThread

    context, seen = at.spark.sparkContext, []
    context.setLocalProperty("job.property", "mine")

    def look():
        at.spark.table("t").count()
        seen.append(context.getLocalProperty("job.property"))

    thread = InheritableThread(look)
    thread.start()
    thread.join()
    context.setLocalProperty("job.property", None)
    return seen


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.SparkSession.newSession.html",
    "CREATE_VIEW plan full",
    "SELECT text full",
    "SELECT FAIL TABLE_OR_VIEW_NOT_FOUND",
    given=T,
    long=True,
)
def a_new_session_of_its_own(at: Place) -> object:
    other = at.spark.newSession()
    other.sql("SELECT 1 AS one").createOrReplaceTempView("only_here")
    found = other.sql("SELECT * FROM only_here").collect()
    at.spark.sql("SELECT * FROM only_here")
    return found


@job(
    f"{SPARK}/api/pyspark.SparkContext.setJobGroup.html",
    "SELECT plan full; direct t()",
    "INSERT text full; writes t(id, v)",
    given=T,
    long=True,
)
def groups_descriptions_and_tags(at: Place) -> object:
    context = at.spark.sparkContext
    context.setJobGroup("group", "what it is")
    context.addJobTag("mine")
    at.spark.addTag("of-the-session")
    at.spark.table("t").count()
    found = (
        sorted(set(context.getJobTags()) - _OF_THE_TEST),
        sorted(at.spark.getTags()),
        context.getLocalProperty("spark.jobGroup.id"),
        len(context.statusTracker().getJobIdsForGroup("group")) > 0,
    )
    context.clearJobTags()
    at.spark.clearTags()
    for name in ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"):
        context.setLocalProperty(name, None)
    at.spark.sql("INSERT INTO t VALUES (3, 'c')")
    return found, sorted(set(context.getJobTags()) - _OF_THE_TEST)


_OF_THE_TEST = frozenset({"audit-suppressed"})


@job(
    "https://docs.python.org/3/howto/logging.html: the root logger of a program",
    "SELECT text full; direct t(id,v)",
    "SHOW text full",
    "DESCRIBE text full",
    "DESCRIBE text full",
    given=T,
    long=True,
)
def messages_of_a_program(at: Place) -> object:
    logging.getLogger("program").warning("ours")
    at.spark.sql("SELECT * FROM t WHERE id = 1").collect()
    at.spark.sql("SHOW TABLES").collect()
    at.spark.sql("DESCRIBE HISTORY t").collect()
    at.spark.sql("DESCRIBE t").collect()
    return None


@job(
    "Great Expectations, dbt, Soda: comments before statements, and one statement at a time",
    (
        "REPLACE_TABLE_AS_SELECT text full; direct t(id,v); writes made(id<-t.id, v<-t.v); ddl "
        "CREATE Table made(id:ADD,v:ADD)"
    ),
    "INSERT text full; direct made(id) t(id,v); writes made(id<-t.id, v<-t.v)",
    "SHOW text full",
    "ALTER_TABLE text full; ddl ALTER Table made(w:ADD)",
    given=T,
    long=True,
)
def statements_of_a_tool(at: Place) -> object:
    at.spark.sql('/* {"app": "dbt"} */ CREATE OR REPLACE TABLE made USING delta AS SELECT * FROM t')
    at.spark.sql("-- a comment\nINSERT INTO made SELECT * FROM t WHERE id NOT IN (SELECT id FROM made)")
    at.spark.sql("SHOW TABLE EXTENDED LIKE 'made'").count()
    at.spark.sql("ALTER TABLE made ADD COLUMNS (w INT)")
    return at.spark.catalog.listColumns("made")


@job(
    "An error of a query: its class, message and context are Spark's own",
    "SELECT FAIL UNRESOLVED_COLUMN.WITH_SUGGESTION",
    "UNKNOWN FAIL PARSE_SYNTAX_ERROR",
    "SELECT FAIL TABLE_OR_VIEW_NOT_FOUND",
    "SELECT FAIL DIVIDE_BY_ZERO",
    "SELECT FAIL USER_RAISED_EXCEPTION",
    given=T,
    long=True,
)
def errors_of_a_query(at: Place) -> object:
    from pyspark.errors import PySparkException

    found = []
    for text in (
        "SELECT nothing FROM t",
        "SELEC 1",
        "SELECT * FROM nowhere",
        "SELECT 1 / 0",
        "SELECT raise_error('x')",
    ):
        try:
            at.spark.sql(text).collect()
        except PySparkException as error:  # noqa: PERF203  each of them fails
            found.append((type(error).__name__, error.getCondition(), str(error).partition("\n")[0]))
    return found
