"""Methods by the classes of the libraries: each tried on a protected object, or said to reach none.

In: a `World`. Out: what the call gives. A frame that it gives is collected, anything else is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import functions as f

from audit.spark.pyspark_api import api_surface as surface

Way = Callable[[Any], Any]
REACHES_NOTHING = "settings, names and sessions: what they lead to is tried by the methods that run it"


def _none(names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), REACHES_NOTHING)


def _plain(names: str, make: Callable[[Any], Any]) -> dict[str, Way]:
    """Methods without arguments, of what `make` gives of a world."""
    return {name: (lambda w, name=name: getattr(make(w), name)()) for name in names.split()}


def _frame(w: Any) -> Any:
    return w.frame


def _view(method: str) -> Way:
    def way(w: Any) -> Any:
        getattr(w.frame, method)("tempo")
        name = "global_temp.tempo" if "Global" in method else "tempo"
        return w.session.sql(f"SELECT * FROM {name}")

    return way


def _pandas(frames: Any) -> Any:
    yield from frames


_BY = "name"
DATAFRAME: dict[str, Way | str] = {
    **_plain(
        "alias checkpoint collect count distinct dropDuplicates drop_duplicates dropna exceptAll first head"
        " isEmpty localCheckpoint show summary toArrow toJSON toLocalIterator toPandas describe cache"
        " persist unpersist inputFiles printSchema semanticHash isLocal pandas_api asTable",
        _frame,
    ),
    "alias": lambda w: w.frame.alias("a"),
    "exceptAll": lambda w: w.frame.exceptAll(w.frame.limit(0)),
    "head": lambda w: w.frame.head(9),
    "tail": lambda w: w.frame.tail(9),
    "take": lambda w: w.frame.take(9),
    "toJSON": lambda w: w.frame.toJSON().collect(),
    "toLocalIterator": lambda w: list(w.frame.toLocalIterator()),
    "rdd": lambda w: w.frame.rdd.collect(),
    "pandas_api": lambda w: w.frame.pandas_api().head(9).to_numpy(),
    "asTable": lambda w: repr(w.frame.asTable()),
    "agg": lambda w: w.frame.agg(f.max("name"), f.collect_list("name")),
    "approxQuantile": lambda w: w.frame.approxQuantile("id", [0.5], 0.0),
    "coalesce": lambda w: w.frame.coalesce(1),
    "colRegex": lambda w: w.frame.select(w.frame.colRegex("`n.*`")),
    "columns": lambda w: w.frame.columns,
    "dtypes": lambda w: w.frame.dtypes,
    "schema": lambda w: w.frame.schema,
    "corr": lambda w: w.frame.corr("id", "id"),
    "cov": lambda w: w.frame.cov("id", "id"),
    "crosstab": lambda w: w.frame.crosstab("name", "region"),
    "crossJoin": lambda w: w.frame.crossJoin(w.frame),
    "cube": lambda w: w.frame.cube(_BY).count(),
    "drop": lambda w: w.frame.drop("id"),
    "dropDuplicatesWithinWatermark": REACHES_NOTHING,
    "executionInfo": lambda w: w.frame.executionInfo,
    "exists": lambda w: w.own.where(w.frame.exists()),
    "explain": lambda w: w.frame.explain(extended=True),
    "fillna": lambda w: w.frame.fillna("x"),
    "filter": lambda w: w.frame.filter("name > 'S'"),
    "where": lambda w: w.frame.where("name LIKE 'S3%'"),
    "foreach": lambda w: w.frame.foreach(print),
    "foreachPartition": lambda w: w.frame.foreachPartition(list),
    "freqItems": lambda w: w.frame.freqItems(["name"]),
    "groupBy": lambda w: w.frame.groupBy(_BY).count(),
    "groupby": lambda w: w.frame.groupby(_BY).max("id"),
    "groupingSets": lambda w: w.frame.groupingSets([[f.col(_BY)]], f.col(_BY)).count(),
    "hint": lambda w: w.frame.hint("broadcast"),
    "intersect": lambda w: w.frame.select("name").intersect(w.session.sql("SELECT 'S3CR3T-1'")),
    "intersectAll": lambda w: w.frame.select("name").intersectAll(w.session.sql("SELECT 'S3CR3T-1'")),
    "subtract": lambda w: w.frame.subtract(w.frame.limit(0)),
    "isStreaming": lambda w: w.frame.isStreaming,
    "storageLevel": lambda w: w.frame.storageLevel,
    "join": lambda w: w.frame.join(w.own, "id"),
    "lateralJoin": lambda w: w.own.lateralJoin(w.frame),
    "limit": lambda w: w.frame.limit(9),
    "offset": lambda w: w.frame.offset(0),
    "mapInArrow": lambda w: w.frame.mapInArrow(_pandas, w.frame.schema),
    "mapInPandas": lambda w: w.frame.mapInPandas(_pandas, w.frame.schema),
    "melt": lambda w: w.frame.melt(["id"], ["name", "region"], "k", "v"),
    "unpivot": lambda w: w.frame.unpivot(["id"], ["name", "region"], "k", "v"),
    "mergeInto": lambda w: (
        w.frame.mergeInto(w.own_name, f.expr("false")).whenNotMatched().insertAll().merge()
    ),
    "metadataColumn": lambda w: w.frame.select(w.frame.metadataColumn("_metadata"), "name"),
    "na": lambda w: w.frame.na.drop(),
    "stat": lambda w: w.frame.stat.crosstab("name", "region"),
    "nearestByJoin": REACHES_NOTHING,
    "observe": lambda w: w.frame.observe("o", f.max("name")),
    "orderBy": lambda w: w.frame.orderBy(_BY),
    "sort": lambda w: w.frame.sort(_BY),
    "sortWithinPartitions": lambda w: w.frame.sortWithinPartitions(_BY),
    "plot": REACHES_NOTHING,
    "randomSplit": lambda w: w.frame.randomSplit([1.0])[0],
    "repartition": lambda w: w.frame.repartition(2, _BY),
    "repartitionById": lambda w: w.frame.repartitionById(2, f.col("id")),
    "repartitionByRange": lambda w: w.frame.repartitionByRange(2, _BY),
    "replace": lambda w: w.frame.replace("S3CR3T-1", "found"),
    "rollup": lambda w: w.frame.rollup(_BY).count(),
    "sameSemantics": lambda w: w.frame.sameSemantics(w.own),
    "sample": lambda w: w.frame.sample(1.0),
    "sampleBy": lambda w: w.frame.sampleBy("name", {"S3CR3T-1": 1.0}),
    "scalar": lambda w: w.own.select(w.frame.agg(f.max("name")).scalar()),
    "select": lambda w: w.frame.select("name"),
    "selectExpr": lambda w: w.frame.selectExpr("upper(name)"),
    "sparkSession": REACHES_NOTHING,
    "sql_ctx": REACHES_NOTHING,
    "to": lambda w: w.frame.to(w.frame.schema),
    "toDF": lambda w: w.frame.toDF("a", "b", "c"),
    "transform": lambda w: w.frame.transform(lambda one: one),
    "transpose": lambda w: w.frame.transpose(),
    "union": lambda w: w.frame.union(w.frame),
    "unionAll": lambda w: w.frame.unionAll(w.frame),
    "unionByName": lambda w: w.frame.unionByName(w.frame),
    "withColumn": lambda w: w.frame.withColumn("x", f.col("name")),
    "withColumnRenamed": lambda w: w.frame.withColumnRenamed("name", "x"),
    "withColumns": lambda w: w.frame.withColumns({"x": f.col("name")}),
    "withColumnsRenamed": lambda w: w.frame.withColumnsRenamed({"name": "x"}),
    "withMetadata": lambda w: w.frame.withMetadata("name", {}),
    "withWatermark": REACHES_NOTHING,
    "write": lambda w: w.frame.write.mode("overwrite").json(w.out),
    "writeStream": REACHES_NOTHING,
    "writeTo": lambda w: w.frame.writeTo(w.new).create(),
    "zipWithIndex": lambda w: w.frame.zipWithIndex(),
    **{
        name: _view(name)
        for name in [
            "createGlobalTempView",
            "createOrReplaceGlobalTempView",
            "createOrReplaceTempView",
            "createTempView",
            "registerTempTable",
        ]
    },
}
SESSION: dict[str, Way | str] = {
    "sql": lambda w: w.session.sql("SELECT * FROM {t}", t=w.frame),
    "table": lambda w: w.session.table(w.name),
    "createDataFrame": lambda w: w.session.createDataFrame(w.frame.rdd, w.frame.schema),
    **_none(
        "Builder active addArtifact addArtifacts addTag builder catalog clearProgressHandlers clearTags"
        " client conf copyFromLocalToFs dataSource emptyDataFrame getActiveSession getTags interruptAll"
        " interruptOperation interruptTag newSession profile range read readStream registerProgressHandler"
        " removeProgressHandler removeTag sparkContext stop streams tvf udf udtf version"
    ),
}
_FILES = "csv json orc parquet text xml"
READER: dict[str, Way | str] = {
    **{
        name: (lambda w, name=name: getattr(w.session.read.option("rowTag", "a"), name)(w.place))
        for name in _FILES.split()
    },
    "table": lambda w: w.session.read.option("versionAsOf", 0).table(w.name),
    "load": lambda w: w.session.read.format("delta").load(w.place),
    "changes": lambda w: w.session.read.option("startingVersion", 0).changes(w.name),
    "jdbc": REACHES_NOTHING,
    **_none("format option options schema"),
}
WRITER: dict[str, Way | str] = {
    **{
        name: (
            lambda w, name=name: getattr(
                w.frame.select("name").write.option("rowTag", "a").mode("overwrite"), name
            )(w.out)
        )
        for name in _FILES.split()
    },
    "insertInto": lambda w: w.own.write.insertInto(w.name, overwrite=True),
    "save": lambda w: w.own.write.mode("overwrite").format("parquet").option("PATH", w.place).save(),
    "saveAsTable": lambda w: w.own.write.mode("overwrite").saveAsTable(w.name),
    "jdbc": REACHES_NOTHING,
    **_none("bucketBy clusterBy format mode option options partitionBy sortBy"),
}
WRITER_V2: dict[str, Way | str] = {
    "append": lambda w: w.frame.writeTo(w.own_name).append(),
    "overwrite": lambda w: w.own.writeTo(w.name).overwrite(f.col("name") > "A"),
    "overwritePartitions": lambda w: w.own.writeTo(w.name).overwritePartitions(),
    "create": lambda w: w.own.writeTo(w.new).using("parquet").tableProperty("location", w.place).create(),
    "createOrReplace": lambda w: w.own.writeTo(w.name).using("delta").createOrReplace(),
    "replace": lambda w: w.own.writeTo(w.name).using("delta").replace(),
    **_none("clusterBy option options partitionedBy tableProperty using"),
}


def _merge(w: Any) -> Any:
    return w.own.mergeInto(w.name, f.expr(f"{w.name.rpartition('.')[2]}.name > 'A'"))


MERGE: dict[str, Way | str] = {
    "merge": lambda w: _merge(w).whenMatched().delete().merge(),
    "whenMatched": lambda w: _merge(w).whenMatched().update({"region": f.col("name")}).merge(),
    "whenNotMatched": lambda w: _merge(w).whenNotMatched().insertAll().merge(),
    "whenNotMatchedBySource": lambda w: _merge(w).whenNotMatchedBySource().delete().merge(),
    "withSchemaEvolution": lambda w: _merge(w).withSchemaEvolution().whenNotMatched().insertAll().merge(),
    **_none("WhenMatched WhenNotMatched WhenNotMatchedBySource"),
}


def _stream(w: Any, frame: Any, kind: str = "json", path: str | None = None) -> None:
    writer = frame.writeStream.format(kind).option("checkpointLocation", w.free_folder())
    writer.trigger(availableNow=True).start(w.out if path is None else path).awaitTermination()


def _batches(w: Any) -> list[str]:
    seen: list[str] = []
    query = w.session.readStream.table(w.own_name).writeStream.foreachBatch(
        lambda _batch, _number: seen.append(str(w.session.table(w.name).collect()))
    )
    query.option("checkpointLocation", w.free_folder()).trigger(availableNow=True).start().awaitTermination()
    return seen


STREAM_READER: dict[str, Way | str] = {
    **{
        name: (
            lambda w, name=name: _stream(
                w, getattr(w.session.readStream.schema("name STRING").option("rowTag", "a"), name)(w.place)
            )
        )
        for name in _FILES.split()
    },
    "table": lambda w: _stream(w, w.session.readStream.table(w.name)),
    "load": lambda w: _stream(w, w.session.readStream.format("delta").option("PATH", w.place).load()),
    "changes": lambda w: _stream(w, w.session.readStream.changes(w.name)),
    **_none("format name option options schema"),
}
STREAM_WRITER: dict[str, Way | str] = {
    "start": lambda w: _stream(w, w.session.readStream.table(w.own_name), "parquet", w.place),
    "toTable": lambda w: (
        w.session.readStream.table(w.own_name)
        .groupBy("name")
        .count()
        .writeStream.outputMode("complete")
        .option("checkpointLocation", w.free_folder())
        .trigger(availableNow=True)
        .toTable(w.name)
        .awaitTermination()
    ),
    "foreachBatch": _batches,
    "foreach": REACHES_NOTHING,
    **_none("clusterBy format option options outputMode partitionBy queryName trigger"),
}
GROUPED: dict[str, Way | str] = {
    "agg": lambda w: w.frame.groupBy("region").agg(f.max("name")),
    "pivot": lambda w: w.frame.groupBy("id").pivot("name").count(),
    "applyInPandas": lambda w: w.frame.groupBy("name").applyInPandas(lambda one: one, w.frame.schema),
    "applyInArrow": lambda w: w.frame.groupBy("name").applyInArrow(lambda one: one, w.frame.schema),
    "cogroup": lambda w: (
        w.frame.groupBy("name")
        .cogroup(w.frame.groupBy("name"))
        .applyInPandas(lambda one, _: one, w.frame.schema)
    ),
    **{
        name: (lambda w, name=name: getattr(w.frame.groupBy("name"), name)())
        for name in ["avg", "count", "max", "mean", "min", "sum"]
    },
    **_none("apply applyInPandasWithState transformWithState transformWithStateInPandas"),
}


def _catalog(name: str, *arguments: Callable[[Any], Any]) -> Way:
    def way(w: Any) -> Any:
        return getattr(w.session.catalog, name)(*(one(w) for one in arguments))

    return way


def _name(w: Any) -> Any:
    return w.name


CATALOG: dict[str, Way | str] = {
    **{
        name: _catalog(name, _name)
        for name in [
            "cacheTable",
            "uncacheTable",
            "getCreateTableString",
            "getTable",
            "getTableProperties",
            "isCached",
            "listColumns",
            "listPartitions",
            "tableExists",
            "truncateTable",
            "analyzeTable",
            "recoverPartitions",
            "refreshTable",
        ]
    },
    "createTable": lambda w: w.session.catalog.createTable(w.new, w.place, "parquet", w.own.schema),
    "createExternalTable": lambda w: w.session.catalog.createExternalTable(
        w.new, w.place, "parquet", w.own.schema
    ),
    "createDatabase": lambda w: w.session.catalog.createDatabase("taken", properties={"location": w.place}),
    "dropDatabase": lambda w: w.session.catalog.dropDatabase("prot", cascade=True),
    "dropTable": lambda w: w.session.catalog.dropTable(w.name),
    "dropView": lambda w: w.session.catalog.dropView(w.name),
    "refreshByPath": lambda w: w.session.catalog.refreshByPath(w.place),
    "listTables": lambda w: w.session.catalog.listTables("prot"),
    "listViews": lambda w: w.session.catalog.listViews("prot"),
    "getDatabase": lambda w: w.session.catalog.getDatabase("prot"),
    "clearCache": _catalog("clearCache"),
    **_none(
        "databaseExists functionExists getFunction listCatalogs listDatabases listFunctions"
        " dropGlobalTempView dropTempView setCurrentCatalog setCurrentDatabase currentCatalog"
        " currentDatabase registerFunction"
    ),
}


def _delta(w: Any) -> DeltaTable:
    return DeltaTable.forPath(w.session, w.place)


DELTA_TABLE: dict[str, Way | str] = {
    "toDF": lambda w: _delta(w).toDF(),
    "alias": lambda w: _delta(w).alias("a").toDF(),
    "delete": lambda w: _delta(w).delete("name LIKE 'S3CR3T%'"),
    "update": lambda w: _delta(w).update(set={"region": "name"}),
    "vacuum": lambda w: _delta(w).vacuum(0),
    "history": lambda w: _delta(w).history(),
    "detail": lambda w: _delta(w).detail(),
    "restoreToVersion": lambda w: _delta(w).restoreToVersion(0),
    "restoreToTimestamp": lambda w: _delta(w).restoreToTimestamp("2020-01-01"),
    "clone": lambda w: _delta(w).clone(w.free_folder(), isShallow=True),
    "cloneAtVersion": lambda w: _delta(w).cloneAtVersion(0, w.free_folder(), isShallow=True),
    "cloneAtTimestamp": lambda w: _delta(w).cloneAtTimestamp("2999-01-01", w.free_folder(), isShallow=True),
    "convertToDelta": lambda w: DeltaTable.convertToDelta(w.session, f"parquet.`{w.above}`").toDF(),
    "generate": lambda w: _delta(w).generate("symlink_format_manifest"),
    "addFeatureSupport": lambda w: _delta(w).addFeatureSupport("deletionVectors"),
    "dropFeatureSupport": lambda w: _delta(w).dropFeatureSupport("columnMapping"),
    "upgradeTableProtocol": lambda w: _delta(w).upgradeTableProtocol(1, 2),
    "forName": lambda w: DeltaTable.forName(w.session, w.name).toDF(),
    "forPath": lambda w: _delta(w).toDF(),
    "isDeltaTable": lambda w: DeltaTable.isDeltaTable(w.session, w.place),
    "merge": lambda w: _delta(w).alias("t").merge(w.own, "t.name > 'A'").whenMatchedDelete().execute(),
    "optimize": lambda w: _delta(w).optimize().executeZOrderBy("name"),
    "create": lambda w: (
        DeltaTable.create(w.session).tableName(w.new).location(f"{w.place}/x").addColumn("i", "INT").execute()
    ),
    "createIfNotExists": lambda w: (
        DeltaTable.createIfNotExists(w.session).location(f"{w.place}/x").addColumn("i", "INT").execute()
    ),
    "createOrReplace": lambda w: (
        DeltaTable.createOrReplace(w.session).location(w.place).addColumn("i", "INT").execute()
    ),
    "replace": lambda w: DeltaTable.replace(w.session).tableName(w.name).addColumn("i", "INT").execute(),
}


def _into(w: Any) -> Any:
    return _delta(w).alias("t").merge(w.own.alias("s"), "t.id = s.id")


DELTA_MERGE: dict[str, Way | str] = {
    "execute": lambda w: _into(w).whenMatchedUpdate(set={"region": "t.name"}).execute(),
    "whenMatchedDelete": lambda w: _into(w).whenMatchedDelete("t.name > 'A'").execute(),
    "whenMatchedUpdate": lambda w: _into(w).whenMatchedUpdate(set={"region": "t.name"}).execute(),
    "whenMatchedUpdateAll": lambda w: (
        _delta(w).alias("t").merge(w.frame.alias("s"), "t.id = s.id").whenMatchedUpdateAll().execute()
    ),
    "whenNotMatchedBySourceDelete": lambda w: _into(w).whenNotMatchedBySourceDelete().execute(),
    "whenNotMatchedBySourceUpdate": lambda w: (
        _into(w).whenNotMatchedBySourceUpdate(set={"region": "t.name"}).execute()
    ),
    "whenNotMatchedInsert": lambda w: _into(w).whenNotMatchedInsert(values={"id": "s.id"}).execute(),
    "whenNotMatchedInsertAll": lambda w: _into(w).whenNotMatchedInsertAll().execute(),
    "withSchemaEvolution": lambda w: _into(w).withSchemaEvolution().whenNotMatchedInsertAll().execute(),
}
DELTA_BUILDER: dict[str, Way | str] = {
    "execute": lambda w: (
        DeltaTable.createOrReplace(w.session).location(w.above).addColumn("i", "INT").execute()
    ),
    **_none("addColumn addColumns clusterBy comment location partitionedBy property tableName"),
}
DELTA_OPTIMIZE: dict[str, Way | str] = {
    "executeCompaction": lambda w: _delta(w).optimize().executeCompaction(),
    "executeZOrderBy": lambda w: _delta(w).optimize().executeZOrderBy("name"),
    "where": lambda w: _delta(w).optimize().where("region = 'us'").executeCompaction(),
}
METHODS: dict[str, dict[str, Way | str]] = {
    surface.DATAFRAME.owner: DATAFRAME,
    surface.SESSION.owner: SESSION,
    surface.READER.owner: READER,
    surface.WRITER.owner: WRITER,
    surface.WRITER_V2.owner: WRITER_V2,
    surface.MERGE.owner: MERGE,
    surface.STREAM_READER.owner: STREAM_READER,
    surface.STREAM_WRITER.owner: STREAM_WRITER,
    surface.GROUPED.owner: GROUPED,
    surface.CATALOG.owner: CATALOG,
    surface.DELTA_TABLE.owner: DELTA_TABLE,
    surface.DELTA_MERGE.owner: DELTA_MERGE,
    surface.DELTA_BUILDER.owner: DELTA_BUILDER,
    surface.DELTA_OPTIMIZE.owner: DELTA_OPTIMIZE,
}
