"""Streams with foreachBatch, in all the forms that Delta's and Databricks' pages show."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from delta.tables import DeltaTable

from .job import Place, job

DELTA_UPSERT = (
    "https://docs.delta.io/latest/delta-update.html#upsert-from-streaming-queries-using-foreachbatch"
)
DATABRICKS_FOREACH = "https://docs.databricks.com/aws/en/structured-streaming/foreach"
EVENTS = """
    CREATE TABLE events USING delta AS SELECT * FROM VALUES (1, 'new'), (2, 'b') AS t(id, v);
    CREATE TABLE target USING delta AS SELECT * FROM VALUES (1, 'old') AS t(id, v)
"""
MERGED = """
    MERGE INTO target t USING updates s ON s.id = t.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""


@job(
    DELTA_UPSERT,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    CREATE_VIEW plan full",
    "    MERGE text full; direct events(id,v) target(id); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
)
def upsert_by_sql_of_a_temporary_view(at: Place) -> None:
    def upsert(batch, _number):
        batch.createOrReplaceTempView("updates")
        batch.sparkSession.sql(MERGED)

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(upsert).outputMode("update"))


@job(
    DATABRICKS_FOREACH,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    CREATE_VIEW plan full",
    "    MERGE listener full; direct events(id,v) target(id); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def upsert_by_sql_of_the_jvms_session(at: Place) -> None:
    def upsert(batch, _number):
        batch.createOrReplaceTempView("updates")
        batch._jdf.sparkSession().sql(MERGED)

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(upsert).outputMode("update"))


@job(
    DELTA_UPSERT,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    MERGE plan full; direct events(id,v) target(id); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def upsert_by_delta_table(at: Place) -> None:
    target = DeltaTable.forName(at.spark, "target")

    def upsert(batch, _number):
        (
            target.alias("t")
            .merge(batch.alias("s"), "s.id = t.id")
            .whenMatchedUpdateAll()
            .whenNotMatchedInsertAll()
            .execute()
        )

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(upsert).outputMode("update"))


@job(
    DATABRICKS_FOREACH,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    MERGE plan full; direct events(id,v) target(id); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def upsert_by_merge_into(at: Place) -> None:
    from pyspark.sql.functions import expr

    def upsert(batch, _number):
        (
            batch.mergeInto("target", expr("target.id = events.id"))
            .whenMatched()
            .updateAll()
            .whenNotMatched()
            .insertAll()
            .merge()
        )

    at.finish(at.spark.readStream.table("events").alias("events").writeStream.foreachBatch(upsert))


@job(
    "PySpark's reference, SparkSession.sql: formatting with Python variables",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def insert_of_a_formatted_batch(at: Place) -> None:
    def insert(batch, _number):
        batch.sparkSession.sql("INSERT INTO target SELECT id, upper(v) FROM {src}", src=batch)

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(insert))


@job(
    "https://docs.delta.io/latest/delta-streaming.html#idempotent-table-writes-in-foreachbatch",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    INSERT plan full; direct events(id,v); writes STAGE:first(id<-events.id, v<-events.v)",
    "    INSERT plan full; direct events(id,v); writes STAGE:second(id<-events.id, v<-events.v)",
    "SELECT plan full; direct STAGE:first(id,v)",
    given=EVENTS,
    long=True,
)
def idempotent_writes_to_two_tables(at: Place) -> None:
    def write(batch, number):
        batch.persist()
        for name in ("first", "second"):
            writer = batch.write.format("delta").mode("append")
            writer.option("txnVersion", number).option("txnAppId", "app").save(at.path(name))
        batch.unpersist()

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(write))
    return at.spark.read.format("delta").load(at.path("first"))


@job(
    "https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html#foreachbatch",
    "STREAM plan full",
    "  STREAM_BATCH FAIL FOREACH_BATCH_USER_FUNCTION_ERROR",
    "    INSERT FAIL TABLE_OR_VIEW_NOT_FOUND",
    given=EVENTS,
)
def a_function_that_fails(at: Place) -> None:
    def fail(batch, _number):
        batch.sparkSession.sql("INSERT INTO target SELECT * FROM nowhere")

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(fail))


@job(
    DATABRICKS_FOREACH,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    SELECT plan full; direct events()",
    "    SELECT plan full; direct events()",
    "    SELECT plan full",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def a_batch_looked_at_and_appended(at: Place) -> object:
    counts = []

    def append(batch, number):
        if not batch.isEmpty():
            counts.append((number, batch.count(), batch.sparkSession.range(3).count()))
            batch.write.mode("append").saveAsTable("target")

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(append))
    return counts


@job(
    "https://docs.databricks.com/aws/en/structured-streaming/delta-lake: upsert with foreachBatch",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    CREATE_VIEW plan full",
    "    MERGE text full; direct events(id,v) target(id); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def insert_only_merge_for_deduplication(at: Place) -> None:
    def insert(batch, _number):
        batch.dropDuplicates(["id"]).createOrReplaceTempView("updates")
        batch.sparkSession.sql(
            "MERGE INTO target t USING updates s ON s.id = t.id WHEN NOT MATCHED THEN INSERT *"
        )

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(insert))


@job(
    "https://docs.delta.io/latest/delta-update.html: slowly changing data (SCD) type 2, of a stream",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    (
        "    MERGE plan full; direct events(id,v) history(current,id,v); writes history(current, "
        "id<-events.id, v<-events.v)"
    ),
    given="""
        CREATE TABLE events USING delta AS SELECT * FROM VALUES (1, 'new'), (2, 'b') AS t(id, v);
        CREATE TABLE history USING delta AS SELECT 1 AS id, 'old' AS v, true AS current
    """,
    long=True,
)
def slowly_changing_dimension_by_foreach_batch(at: Place) -> None:
    def change(batch, _number):
        history = DeltaTable.forName(batch.sparkSession, "history")
        changed = batch.alias("u").join(history.toDF().alias("h"), "id").where("h.current AND u.v <> h.v")
        staged = changed.selectExpr("NULL AS key", "u.*").unionByName(batch.selectExpr("id AS key", "*"))
        (
            history.alias("h")
            .merge(staged.alias("s"), "h.id = s.key")
            .whenMatchedUpdate("h.current AND h.v <> s.v", {"current": "false"})
            .whenNotMatchedInsert(values={"id": "s.id", "v": "s.v", "current": "true"})
            .execute()
        )

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(change))


@job(
    "https://docs.databricks.com/aws/en/ldp/cdc: changes with deletes, applied in foreachBatch",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,op,seq,v)",
    "    CREATE_VIEW plan full",
    "    MERGE text full; direct events(id,op,seq,v) target(id); writes target(v<-events.v, id<-events.id)",
    given="""
        CREATE TABLE events USING delta AS
        SELECT * FROM VALUES (1, 'x', 'D', 1), (2, 'b', 'U', 1), (2, 'c', 'U', 2) AS t(id, v, op, seq);
        CREATE TABLE target USING delta AS SELECT * FROM VALUES (1, 'old'), (2, 'a') AS t(id, v)
    """,
    long=True,
)
def changes_with_deletes(at: Place) -> None:
    def apply(batch, _number):
        batch.createOrReplaceTempView("changes")
        batch.sparkSession.sql("""
            MERGE INTO target t USING (
                SELECT * FROM changes QUALIFY row_number() OVER (PARTITION BY id ORDER BY seq DESC) = 1
            ) s ON s.id = t.id
            WHEN MATCHED AND s.op = 'D' THEN DELETE
            WHEN MATCHED THEN UPDATE SET v = s.v
            WHEN NOT MATCHED AND s.op <> 'D' THEN INSERT (id, v) VALUES (s.id, s.v)
        """)

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(apply))


@job(
    DATABRICKS_FOREACH,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    CREATE_VIEW plan full",
    "    INSERT text full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    "DROP_VIEW plan full",
    given=EVENTS,
    long=True,
)
def a_global_view_for_the_outer_session(at: Place) -> None:
    def upsert(batch, _number):
        batch.createOrReplaceGlobalTempView("job_updates")
        at.spark.sql("INSERT INTO target SELECT * FROM global_temp.job_updates")

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(upsert))
    at.spark.catalog.dropGlobalTempView("job_updates")


@job(
    "A batch's view is not the outer session's: PySpark says so by an error",
    "STREAM plan full",
    "  STREAM_BATCH FAIL FOREACH_BATCH_USER_FUNCTION_ERROR",
    "    CREATE_VIEW plan full",
    "    MERGE FAIL TABLE_OR_VIEW_NOT_FOUND",
    given=EVENTS,
    long=True,
)
def a_view_that_the_outer_session_does_not_have(at: Place) -> None:
    def upsert(batch, _number):
        batch.createOrReplaceTempView("updates")
        at.spark.sql(MERGED)

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(upsert))


@job(
    DATABRICKS_FOREACH,
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    SELECT plan full; direct events(id,v)",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def a_batch_stored_by_a_local_checkpoint(at: Place) -> None:
    def append(batch, _number):
        stored = batch.selectExpr("id * 10 AS id", "v").localCheckpoint()
        stored.write.mode("append").saveAsTable("target")

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(append))


@job(
    "https://docs.delta.io/latest/delta-streaming.html#limit-input-rate",
    "INSERT text full; writes events(id, v)",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    SELECT plan full; direct events()",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    SELECT plan full; direct events()",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    SELECT plan full; direct events()",
    "    INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def many_batches_of_one_file_each(at: Place) -> object:
    numbers = []

    def append(batch, number):
        numbers.append((number, batch.count()))
        batch.sparkSession.sql("INSERT INTO target SELECT * FROM {b}", b=batch)

    at.spark.sql("INSERT INTO events VALUES (3, 'c')")
    stream = at.spark.readStream.option("maxFilesPerTrigger", 1).table("events")
    at.finish(stream.writeStream.foreachBatch(append))
    return len(numbers) > 1, sum(count for _, count in numbers)


@job(
    "Temporary views of the session that starts a stream are seen by its batches",
    "CREATE_VIEW plan full",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "    CREATE_VIEW plan full",
    "    INSERT text full; direct events(id); writes target(id<-events.id, v)",
    given=EVENTS,
    long=True,
)
def a_batch_joined_with_a_view_of_before(at: Place) -> None:
    at.spark.createDataFrame([(1, "one"), (2, "two")], "id INT, name STRING").createOrReplaceTempView("names")
    at.spark.conf.set("job.setting", "seen")

    def append(batch, _number):
        assert batch.sparkSession.conf.get("job.setting") == "seen"
        batch.createOrReplaceTempView("batch")
        batch.sparkSession.sql("INSERT INTO target SELECT id, name FROM batch JOIN names USING (id)")

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(append))


@job(
    "https://docs.databricks.com/aws/en/structured-streaming/foreach: several tables at once, by threads",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v)",
    "INSERT plan full; direct events(id,v); writes target(id<-events.id, v<-events.v)",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct events(id,v); writes other(id<-events.id, "
        "v<-events.v); ddl CREATE Table other(id:ADD,v:ADD)"
    ),
    given=EVENTS,
    long=True,
)
def tables_written_by_threads_of_a_batch(at: Place) -> None:
    def write(batch, _number):
        batch.persist()
        with ThreadPoolExecutor(1) as pool:
            list(pool.map(lambda name: batch.write.mode("append").saveAsTable(name), ("target", "other")))
        batch.unpersist()

    at.finish(at.spark.readStream.table("events").writeStream.foreachBatch(write))
