"""DataFrames that leave the plan and come back: RDDs, checkpoints, caches, pandas; views and variables."""

from __future__ import annotations

from .job import Place, job

SPARK = "https://spark.apache.org/docs/latest/api/python/reference"
T = "CREATE TABLE t USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(id, v)"


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.SparkSession.createDataFrame.html: from the RDD of a DataFrame",
    "SELECT plan full; direct t(id,v)",
    (
        "CREATE_TABLE_AS_SELECT plan partial; direct t(id,v); writes copied(id<-t.id+t.v, "
        "v<-t.id+t.v); ddl CREATE Table copied(id:ADD,v:ADD)"
    ),
    given=T,
    long=True,
)
def a_frame_of_the_rows_of_another(at: Place) -> None:
    rows = at.spark.table("t")
    at.spark.createDataFrame(rows.rdd, rows.schema).write.saveAsTable("copied")


@job(
    f"{SPARK}/api/pyspark.RDD.map.html: RDD round trip",
    "SELECT plan full; direct t(id,v)",
    (
        "CREATE_TABLE_AS_SELECT plan partial; direct t(id,v); writes made(v<-t.id+t.v, "
        "id<-t.id+t.v); ddl CREATE Table made(id:ADD,v:ADD)"
    ),
    given=T,
    long=True,
)
def a_frame_of_mapped_rows(at: Place) -> None:
    pairs = at.spark.table("t").rdd.map(lambda row: (row.v * 2, row.id)).filter(lambda pair: pair[1] > 0)
    pairs.toDF("v STRING, id INT").write.mode("append").saveAsTable("made")


@job(
    f"{SPARK}/api/pyspark.RDD.join.html",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id,v)",
    (
        "CREATE_TABLE_AS_SELECT plan partial; direct t(id,v); writes made(id<-t.id+t.v, "
        "v<-t.id+t.v, w<-t.id+t.v); ddl CREATE Table made(id:ADD,v:ADD,w:ADD)"
    ),
    given=T,
    long=True,
)
def a_join_of_rdds(at: Place) -> None:
    one = at.spark.table("t").rdd.map(lambda row: (row.id, row.v))
    two = at.spark.table("t").where("id = 1").rdd.map(lambda row: (row.id, row.v.upper()))
    one.join(two).map(lambda pair: (pair[0], *pair[1])).toDF("id INT, v STRING, w STRING").write.saveAsTable(
        "made"
    )


@job(
    f"{SPARK}/api/pyspark.SparkContext.parallelize.html",
    "INSERT plan full; writes t(id, v)",
    given=T,
    long=True,
)
def a_frame_of_the_drivers_rows(at: Place) -> None:
    rows = at.spark.sparkContext.parallelize([(7, "g")])
    at.spark.createDataFrame(rows, "id INT, v STRING").write.mode("append").saveAsTable("t")


@job(
    "https://spark.apache.org/docs/latest/sql-getting-started.html#interoperating-with-rdds",
    "INSERT plan partial; writes t(id, v)",
    given=T,
    long=True,
)
def a_frame_of_a_text_file(at: Place) -> None:
    at.folder.joinpath("people.txt").write_text("8,h\n")
    parts = at.spark.sparkContext.textFile(at.path("people.txt")).map(lambda line: line.split(","))
    people = parts.map(lambda part: (int(part[0]), part[1]))
    at.spark.createDataFrame(people, "id INT, v STRING").write.mode("append").saveAsTable("t")


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.checkpoint.html",
    "SELECT plan full; direct t(id,v)",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(id,v); writes made(id<-t.id, v<-t.v); ddl "
        "CREATE Table made(id:ADD,v:ADD)"
    ),
    given=T,
    long=True,
)
def a_checkpoint(at: Place) -> None:
    at.spark.sparkContext.setCheckpointDir(at.path("stored"))
    stored = at.spark.table("t").selectExpr("id + 1 AS id", "v").checkpoint()
    stored.where("id > 0").write.saveAsTable("made")


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.localCheckpoint.html",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id,v)",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(v); writes made(v<-t.v, count); ddl CREATE "
        "Table made(count:ADD,v:ADD)"
    ),
    "SELECT plan full; direct t()",
    given=T,
    long=True,
)
def checkpoints_in_a_loop(at: Place) -> object:
    frame = at.spark.table("t")
    for _ in range(3):
        frame = frame.selectExpr("id + 1 AS id", "v").localCheckpoint()
        frame = frame.unionAll(frame)
    frame.groupBy("v").count().write.saveAsTable("made")
    return frame.count()


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.cache.html",
    "SELECT plan full; direct t(id)",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(id,v); writes made(id<-t.id, v<-t.v); ddl "
        "CREATE Table made(id:ADD,v:ADD)"
    ),
    "CACHE text full; direct t(id,v)",
    "SELECT text full; direct t()",
    "CACHE plan full",
    given=T,
    long=True,
)
def a_cached_frame(at: Place) -> object:
    cached = at.spark.table("t").where("id > 0").cache()
    counts = cached.count(), cached.is_cached, cached.storageLevel.useMemory
    cached.write.saveAsTable("made")
    cached.unpersist()
    at.spark.sql("CACHE TABLE kept AS SELECT * FROM t")
    found = at.spark.sql("SELECT count(*) FROM kept").first()[0]
    at.spark.catalog.uncacheTable("kept")
    return *counts, cached.is_cached, found


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.observe.html",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(id,v); writes made(id<-t.id, v<-t.v); ddl "
        "CREATE Table made(id:ADD,v:ADD)"
    ),
    given=T,
    hive="PySpark reads the metrics by generated code",
    long=True,
)
def metrics_of_an_observation(at: Place) -> object:
    from pyspark.sql import Observation
    from pyspark.sql.functions import count, lit
    from pyspark.sql.functions import max as greatest

    observation = Observation("rows")
    observed = at.spark.table("t").observe(
        observation, count(lit(1)).alias("n"), greatest("id").alias("most")
    )
    observed.write.saveAsTable("made")
    return observation.get


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.createOrReplaceTempView.html",
    "CREATE_VIEW plan full",
    "CREATE_VIEW text full",
    "CREATE_VIEW plan full",
    "SELECT text full; direct t(id,v)",
    "DROP_VIEW plan full",
    given=T,
    long=True,
)
def temporary_views(at: Place) -> object:
    at.spark.table("t").where("id = 1").createOrReplaceTempView("one")
    at.spark.sql("CREATE OR REPLACE TEMPORARY VIEW two AS SELECT v FROM one")
    at.spark.sql("SELECT v FROM two").createGlobalTempView("job_three")
    found = at.spark.newSession().sql("SELECT * FROM global_temp.job_three").collect()
    at.spark.catalog.dropGlobalTempView("job_three")
    return found, [at.spark.catalog.tableExists(name) for name in ("one", "two", "job_three")]


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.SparkSession.sql.html: parameters and templates",
    "INSERT plan full; direct t(id,v); writes t(id<-t.id, v<-t.v)",
    "SELECT text full; direct t(id,v)",
    "SELECT text full; direct t(id,v)",
    "SELECT plan full",
    "SHOW text full",
    "SELECT text full; direct t(id,v)",
    given=T,
    long=True,
)
def parameters_of_every_kind(at: Place) -> object:
    frame = at.spark.table("t")
    at.spark.conf.set("job.column", "v")
    at.spark.sql("INSERT INTO t SELECT id + 10, v FROM {rows} WHERE id > {least}", rows=frame, least=0)
    return (
        at.spark.sql("SELECT * FROM t WHERE id = :id", args={"id": 1}).collect(),
        at.spark.sql("SELECT * FROM t WHERE id = ?", args=[2]).collect(),
        at.spark.sql("SELECT max({rows.id}) FROM {rows}", rows=at.spark.range(3)).collect(),
        [row.tableName for row in at.spark.sql("SHOW TABLES").collect() if row.isTemporary],
        at.spark.sql("SELECT ${job.column} FROM t WHERE id = 1").first()[0],
    )


@job(
    "https://docs.databricks.com/aws/en/sql/language-manual/sql-ref-variables",
    "DECLARE text full",
    "SET text full; direct t(id)",
    "INSERT text full; writes t(id, v)",
    "SELECT text full; direct t(id,v)",
    given=T,
    long=True,
)
def variables_of_a_session(at: Place) -> object:
    at.spark.sql("DECLARE VARIABLE least INT DEFAULT 1")
    at.spark.sql("SET VAR least = (SELECT max(id) FROM t)")
    at.spark.sql("INSERT INTO t SELECT least + 1, 'z'")
    return at.spark.sql("SELECT * FROM t WHERE id >= least")


@job(
    "https://spark.apache.org/docs/latest/api/python/tutorial/pandas_on_spark/",
    (
        "REPLACE_TABLE_AS_SELECT listener full; direct t(id,v); writes made(id<-t.id, v<-t.v, "
        "w<-t.v); ddl REPLACE Table made(id:ADD,v:ADD,w:ADD)"
    ),
    "SELECT listener full; direct t(id,v)",
    "SELECT listener full; direct t()",
    given=T,
    long=True,
)
def pandas_on_spark(at: Place) -> object:
    import pyspark.pandas as ps

    frame = ps.read_table("pandas_on_spark.t")
    frame["w"] = frame["v"] + "!"
    frame.to_table("pandas_on_spark.made", mode="overwrite")
    return frame.groupby("w")["id"].sum().sort_index().to_pandas().tolist(), len(frame)


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.toPandas.html",
    "SELECT plan full; direct t(id,v)",
    "CREATE_TABLE_AS_SELECT plan full; writes made(id, v); ddl CREATE Table made(id:ADD,v:ADD)",
    "SELECT plan full; direct t(id,v)",
    given=T,
    long=True,
)
def pandas_there_and_back(at: Place) -> object:
    local = at.spark.table("t").toPandas()
    at.spark.createDataFrame(local.assign(id=local.id + 5)).write.mode("append").saveAsTable("made")
    return sorted(local.v), sorted(row.v for row in at.spark.table("t").toLocalIterator())


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.show.html",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id)",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id)",
    given=T,
    long=True,
)
def what_is_printed(at: Place) -> None:
    frame = at.spark.table("t").orderBy("id")
    frame.show()
    frame.printSchema()
    frame.describe("id").show()
    print(frame, frame.take(1), frame.isEmpty(), frame.columns)  # noqa: T201  what a notebook shows


@job(
    "https://spark.apache.org/docs/latest/ml-pipeline.html",
    "SELECT listener full; direct t(x,y)",
    "SELECT listener full; direct t(x,y)",
    "SELECT listener full; direct t(x,y)",
    (
        "CREATE_TABLE_AS_SELECT plan full; direct t(x); writes predicted(x<-t.x, prediction<-t.x); "
        "ddl CREATE Table predicted(prediction:ADD,x:ADD)"
    ),
    long=True,
    given="CREATE TABLE t USING delta AS SELECT double(id) AS x, double(id * 2) AS y FROM range(20)",
)
def a_pipeline_of_ml(at: Place) -> object:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler
    from pyspark.ml.regression import LinearRegression

    stages = [VectorAssembler(inputCols=["x"], outputCol="features"), LinearRegression(labelCol="y")]
    model = Pipeline(stages=stages).fit(at.spark.table("t"))
    model.transform(at.spark.table("t")).select("x", "prediction").write.saveAsTable("predicted")
    return round(model.stages[-1].coefficients[0], 3)


@job(
    "https://spark.apache.org/docs/latest/api/python/tutorial/sql/python_data_source.html",
    "INSERT plan full; direct STAGE:fixed(id,v); writes t(id<-fixed.id, v<-fixed.v)",
    given=T,
    long=True,
)
def a_data_source_in_python(at: Place) -> None:
    from pyspark.sql.datasource import DataSource, DataSourceReader

    class Reader(DataSourceReader):
        def read(self, partition):
            yield 11, "k"

    class Fixed(DataSource):
        @classmethod
        def name(cls):
            return "fixed"

        def schema(self):
            return "id INT, v STRING"

        def reader(self, schema):
            return Reader()

    at.spark.dataSource.register(Fixed)
    at.spark.read.format("fixed").load().write.mode("append").saveAsTable("t")


@job(
    f"{SPARK}/pyspark.sql/api/pyspark.sql.DataFrame.foreachPartition.html",
    "SELECT plan full; direct t(id,v)",
    "SELECT plan full; direct t(id,v)",
    given=T,
    long=True,
)
def a_function_for_each_partition(at: Place) -> object:
    total = at.spark.sparkContext.accumulator(0)
    at.spark.table("t").foreachPartition(lambda rows: total.add(sum(row.id for row in rows)))
    at.spark.table("t").foreach(lambda row: total.add(row.id))
    return total.value


@job(
    "https://spark.apache.org/docs/latest/sql-data-sources-jdbc.html",
    "UNLOAD plan partial; direct t(id)",
    "SELECT plan full; direct STAGE:JDBCRelation(copied) [numPartitions=1](id)",
    given=T,
    long=True,
)
def a_table_of_another_database(at: Place) -> object:
    url, driver = f"jdbc:derby:memory:{at.folder.name};create=true", "org.apache.derby.jdbc.EmbeddedDriver"
    writer = at.spark.table("t").select("id").write.format("jdbc").option("url", url)
    writer.option("driver", driver).option("dbtable", "copied").mode("overwrite").save()
    return at.spark.read.jdbc(url, "copied", properties={"driver": driver})
