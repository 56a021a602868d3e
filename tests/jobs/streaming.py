"""Streams without foreachBatch: appends, aggregates with late data, joins, state, files, change feeds."""

from __future__ import annotations

from delta.tables import DeltaTable

from .job import Place, job

SPARK = "https://spark.apache.org/docs/latest/streaming/apis-on-dataframes-and-datasets.html"
EVENTS = """
    CREATE TABLE events USING delta AS SELECT * FROM VALUES
        (1, 'a', TIMESTAMP'2024-01-01 10:00:00'), (2, 'b', TIMESTAMP'2024-01-01 10:07:00'),
        (2, 'b', TIMESTAMP'2024-01-01 10:07:00') AS t(id, v, at)
"""


@job(
    "https://docs.delta.io/latest/delta-streaming.html#append-mode",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v); writes copied(id<-events.id, v<-events.v)",
    given=EVENTS,
    long=True,
)
def append_to_a_table(at: Place) -> None:
    at.finish(
        at.spark.readStream.table("events").selectExpr("id", "upper(v) AS v").writeStream, table="copied"
    )


@job(
    "https://docs.delta.io/latest/delta-streaming.html#complete-mode",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id); writes STAGE:counts(id<-events.id, count)",
    "SELECT plan full; direct STAGE:counts(count,id)",
    given=EVENTS,
    long=True,
)
def complete_mode_to_a_path(at: Place) -> object:
    counts = at.spark.readStream.table("events").groupBy("id").count()
    at.finish(counts.writeStream.format("delta").outputMode("complete").option("path", at.path("counts")))
    return at.spark.read.format("delta").load(at.path("counts"))


@job(
    f"{SPARK}#handling-late-data-and-watermarking",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(at,v); writes counts(start<-events.at, v<-events.v, count)",
    "  STREAM_BATCH plan full; writes counts(start, v, count)",
    "INSERT text full; writes events(id, v, at)",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(at,v); writes counts(start<-events.at, v<-events.v, count)",
    "  STREAM_BATCH plan full; writes counts(start, v, count)",
    given=EVENTS,
    long=True,
)
def windowed_counts_with_late_data(at: Place) -> None:
    from pyspark.sql.functions import window

    counts = (
        at.spark.readStream.table("events")
        .withWatermark("at", "10 minutes")
        .groupBy(window("at", "10 minutes"), "v")
        .count()
        .selectExpr("window.start AS start", "v", "count")
    )
    at.finish(counts.writeStream.outputMode("append"), table="counts")
    at.spark.sql("INSERT INTO events VALUES (3, 'c', TIMESTAMP'2024-01-02 10:00:00')")
    at.finish(counts.writeStream.outputMode("append"), table="counts")


@job(
    f"{SPARK}#streaming-deduplication",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(at,id,v); writes unique_events(id<-events.id, "
        "v<-events.v, at<-events.at)"
    ),
    "  STREAM_BATCH plan full; writes unique_events(id, v, at)",
    given=EVENTS,
    long=True,
)
def deduplication_within_a_watermark(at: Place) -> None:
    events = at.spark.readStream.table("events").withWatermark("at", "1 hour")
    at.finish(events.dropDuplicatesWithinWatermark(["id"]).writeStream, table="unique_events")


@job(
    f"{SPARK}#stream-stream-joins",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct clicks(ad,clicked) events(at,id,v); writes "
        "joined(id<-events.id, v<-events.v, clicked<-clicks.clicked)"
    ),
    "  STREAM_BATCH plan full; writes joined(id, v, clicked)",
    given=EVENTS
    + "; CREATE TABLE clicks USING delta AS SELECT 1 AS ad, TIMESTAMP'2024-01-01 10:01:00' AS clicked",
    long=True,
)
def join_of_two_streams(at: Place) -> None:
    from pyspark.sql.functions import expr

    seen = at.spark.readStream.table("events").withWatermark("at", "10 minutes")
    clicks = at.spark.readStream.table("clicks").withWatermark("clicked", "20 minutes")
    joined = seen.join(clicks, expr("id = ad AND clicked BETWEEN at AND at + INTERVAL 1 hour"))
    at.finish(joined.select("id", "v", "clicked").writeStream, table="joined")


@job(
    f"{SPARK}#stream-static-joins",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(id,v) names(id,name); writes named(id<-events.id, "
        "v<-events.v, name<-names.name)"
    ),
    given=EVENTS + "; CREATE TABLE names USING delta AS SELECT 1 AS id, 'one' AS name",
    long=True,
)
def join_of_a_stream_and_a_table(at: Place) -> None:
    joined = at.spark.readStream.table("events").join(at.spark.table("names"), "id", "left")
    at.finish(joined.select("id", "v", "name").writeStream, table="named")


@job(
    f"{SPARK}#creating-streaming-dataframes-and-streaming-datasets: file source",
    "UNLOAD plan full; writes STAGE:in(id, v)",
    "STREAM plan full",
    ("  STREAM_BATCH plan full; direct STAGE:in(id,v); writes loaded(id<-in.id, v<-in.v)"),
    long=True,
)
def files_of_json_into_a_table(at: Place) -> None:
    at.spark.range(3).selectExpr("id", "'x' AS v").coalesce(1).write.json(at.path("in"))
    files = at.spark.readStream.schema("id LONG, v STRING").json(at.path("in"))
    at.finish(files.writeStream, table="loaded")


@job(
    f"{SPARK}#output-sinks: file sink",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(id,v); writes STAGE:out(id<-events.id, v<-events.v)",
    "SELECT plan full; direct STAGE:out(id,v)",
    given=EVENTS,
    long=True,
)
def a_table_into_files(at: Place) -> object:
    stream = at.spark.readStream.table("events").select("id", "v")
    at.finish(stream.writeStream.format("parquet").option("path", at.path("out")))
    return at.spark.read.parquet(at.path("out"))


@job(
    f"{SPARK}#output-sinks: memory sink",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct events(at,id,v)",
    "SELECT text full",
    "DROP_VIEW plan full",
    given=EVENTS,
    long=True,
)
def a_stream_into_memory(at: Place) -> object:
    stream = at.spark.readStream.table("events").writeStream.format("memory").queryName("in_memory")
    at.finish(stream)
    found = at.spark.sql("SELECT id, v FROM in_memory")
    rows = sorted(map(tuple, found.collect()))
    at.spark.catalog.dropTempView("in_memory")
    return rows


@job(
    "https://docs.delta.io/latest/delta-change-data-feed.html#read-changes-in-streaming-queries",
    "INSERT text full; writes source(id, v)",
    "UPDATE text full; direct source(id); writes source(v)",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct source(_change_type,_commit_version,id,v); writes "
        "changes(id<-source.id, v<-source.v, _change_type<-source._change_type, "
        "_commit_version<-source._commit_version)"
    ),
    given="CREATE TABLE source (id INT, v STRING) TBLPROPERTIES (delta.enableChangeDataFeed = true)",
    long=True,
)
def change_feed_into_a_table(at: Place) -> None:
    at.spark.sql("INSERT INTO source VALUES (1, 'a'), (2, 'b')")
    at.spark.sql("UPDATE source SET v = 'c' WHERE id = 2")
    feed = at.spark.readStream.option("readChangeFeed", "true").option("startingVersion", 0).table("source")
    at.finish(feed.select("id", "v", "_change_type", "_commit_version").writeStream, table="changes")


@job(
    f"{SPARK}#foreach",
    "STREAM plan full",
    "  STREAM_BATCH plan partial; direct events(at,id,v)",
    given=EVENTS,
    long=True,
)
def a_function_for_each_row(at: Place) -> object:
    folder = at.path("rows")

    def note(row):
        from pathlib import Path

        Path(folder).mkdir(exist_ok=True)
        (Path(folder) / f"{row.id}").write_text(row.v)

    at.finish(at.spark.readStream.table("events").writeStream.foreach(note))
    return sorted(path.name for path in at.folder.joinpath("rows").iterdir())


@job(
    "https://spark.apache.org/docs/latest/api/python/reference/pyspark.ss/api/"
    "pyspark.sql.streaming.StatefulProcessor.html",
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct FUNCTION:transformWithStateUDF() events(at,id,v)",
    (
        "    CREATE_TABLE_AS_SELECT plan full; direct FUNCTION:transformWithStateUDF() "
        "events(at,id,v); writes "
        "counted(id<-events.at+events.id+events.v+transformWithStateUDF.None, "
        "n<-events.at+events.id+events.v+transformWithStateUDF.None); ddl CREATE Table "
        "counted(id:ADD,n:ADD)"
    ),
    given=EVENTS,
    long=True,
    spark_sql_streaming_stateStore_providerClass=(
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
)
def state_of_each_key(at: Place) -> None:
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Counts(StatefulProcessor):
        def init(self, handle):
            self.count = handle.getValueState("count", "n INT")

        def handleInputRows(self, key, rows, timerValues):  # noqa: N802, N803  Spark's names
            before = self.count.get()[0] if self.count.exists() else 0
            now = before + sum(len(part) for part in rows)
            self.count.update((now,))
            yield pd.DataFrame({"id": [key[0]], "n": [now]})

        def close(self):
            pass

    counted = (
        at.spark.readStream.table("events")
        .groupBy("id")
        .transformWithStateInPandas(Counts(), "id INT, n INT", "Update", "None")
    )
    at.finish(
        counted.writeStream.outputMode("update").foreachBatch(
            lambda batch, _number: batch.write.mode("append").saveAsTable("counted")
        )
    )


@job(
    "https://www.databricks.com/glossary/medallion-architecture",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(at,id,v); writes bronze(id<-events.id, "
        "v<-events.v, at<-events.at)"
    ),
    "STREAM plan full",
    "  STREAM_BATCH plan full; direct bronze(id,v); writes silver(id<-bronze.id, v<-bronze.v)",
    (
        "REPLACE_TABLE_AS_SELECT plan full; direct silver(v); writes gold(v<-silver.v, count); ddl "
        "REPLACE Table gold(count:ADD,v:ADD)"
    ),
    given=EVENTS,
    long=True,
)
def medallion(at: Place) -> None:
    at.finish(at.spark.readStream.table("events").writeStream, "c1", "bronze")
    silver = at.spark.readStream.table("bronze").where("id IS NOT NULL").selectExpr("id", "trim(v) AS v")
    at.finish(silver.writeStream, "c2", "silver")
    at.spark.table("silver").groupBy("v").count().write.mode("overwrite").saveAsTable("gold")


@job(
    "https://docs.delta.io/latest/delta-streaming.html#ignore-updates-and-deletes",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(at,id,v); writes copied(id<-events.id, "
        "v<-events.v, at<-events.at)"
    ),
    "UPDATE plan full; direct events(id); writes events(v)",
    "STREAM plan full",
    given=EVENTS,
    long=True,
)
def a_source_that_was_updated(at: Place) -> None:
    at.finish(at.spark.readStream.table("events").writeStream, table="copied")
    DeltaTable.forName(at.spark, "events").update("id = 1", {"v": "'z'"})
    at.finish(at.spark.readStream.table("events").writeStream, table="copied")


@job(
    "https://docs.delta.io/latest/delta-streaming.html#ignore-updates-and-deletes: skipChangeCommits",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(at,id,v); writes copied(id<-events.id, "
        "v<-events.v, at<-events.at)"
    ),
    "DELETE plan full; direct events(id); writes events()",
    "STREAM plan full",
    (
        "  STREAM_BATCH plan full; direct events(at,id,v); writes copied(id<-events.id, "
        "v<-events.v, at<-events.at)"
    ),
    given=EVENTS,
    long=True,
)
def a_source_whose_changes_are_skipped(at: Place) -> None:
    at.finish(at.spark.readStream.table("events").writeStream, table="copied")
    DeltaTable.forName(at.spark, "events").delete("id = 1")
    source = at.spark.readStream.option("skipChangeCommits", "true").table("events")
    at.finish(source.writeStream, table="copied")
