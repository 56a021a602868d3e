"""PySpark's and Delta's public methods, each with its place: what runs something, and what does not.

In: nothing. Out: `SURFACE`, read by the front door (what to wrap) and by a test that lists the
libraries' public methods and fails when one has no place here.

- RUNS: executes now; one record.
- ANALYSES: resolves or infers (may read a file's header); its inner executions are no statements.
- CHANGES: alters the session or the catalog through the API; one record.
- LAZY: builds, names or shows; what it leads to is recorded when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MethodKind(str, Enum):
    """What a method does to data."""

    RUNS = "runs"
    ANALYSES = "analyses"
    CHANGES = "changes"
    LAZY = "lazy"


@dataclass(frozen=True, slots=True)
class Methods:
    """The methods of one class. `query_type` is what a record of its actions is called."""

    owner: str
    runs: dict[str, str]
    analyses: frozenset[str] = frozenset()
    changes: dict[str, str] | None = None
    lazy: frozenset[str] = frozenset()

    def kind_of(self, name: str) -> MethodKind | None:
        """Where a method stands, None where nobody has said."""
        if name in self.runs:
            return MethodKind.RUNS
        if name in (self.changes or {}):
            return MethodKind.CHANGES
        if name in self.analyses:
            return MethodKind.ANALYSES
        return MethodKind.LAZY if name in self.lazy else None


def _each(query_type: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), query_type)


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


DATAFRAME = Methods(
    "pyspark.sql.classic.dataframe.DataFrame",
    runs=_each(
        "SELECT",
        "approxQuantile checkpoint collect corr count cov crosstab first foreach foreachPartition"
        " head isEmpty localCheckpoint rdd show tail take toArrow toJSON toLocalIterator toPandas"
        " transpose",
    ),
    changes=_each(
        "CREATE_VIEW",
        "createGlobalTempView createOrReplaceGlobalTempView createOrReplaceTempView createTempView"
        " registerTempTable",
    ),
    # What is cached is kept for whoever asks; names of files and estimates may tell what a policy hides.
    analyses=_set("cache explain inputFiles persist unpersist"),
    lazy=_set(
        "agg alias asTable coalesce colRegex columns crossJoin cube describe distinct drop"
        " dropDuplicates dropDuplicatesWithinWatermark drop_duplicates dropna dtypes exceptAll"
        " executionInfo exists fillna filter freqItems groupBy groupby groupingSets hint"
        " intersect intersectAll isLocal isStreaming join lateralJoin limit mapInArrow"
        " mapInPandas melt mergeInto metadataColumn na nearestByJoin observe offset orderBy"
        " pandas_api plot printSchema randomSplit repartition repartitionById repartitionByRange"
        " replace rollup sameSemantics sample sampleBy scalar schema select selectExpr"
        " semanticHash sort sortWithinPartitions sparkSession sql_ctx stat storageLevel subtract"
        " summary to toDF transform union unionAll unionByName unpivot where withColumn"
        " withColumnRenamed withColumns withColumnsRenamed withMetadata withWatermark write"
        " writeStream writeTo zipWithIndex"
    ),
)
SESSION = Methods(
    "pyspark.sql.session.SparkSession",
    runs=_each("UNKNOWN", "sql"),
    analyses=_set("table"),
    changes={},
    lazy=_set(
        "Builder active addArtifact addArtifacts addTag builder catalog clearProgressHandlers"
        " clearTags client conf copyFromLocalToFs createDataFrame dataSource emptyDataFrame"
        " getActiveSession getTags interruptAll interruptOperation interruptTag newSession profile"
        " range read readStream registerProgressHandler removeProgressHandler removeTag sparkContext"
        " stop streams tvf udf udtf version"
    ),
)
READER = Methods(
    "pyspark.sql.readwriter.DataFrameReader",
    runs={},
    analyses=_set("changes csv jdbc json load orc parquet table text xml"),
    lazy=_set("format option options schema"),
)
WRITER = Methods(
    "pyspark.sql.readwriter.DataFrameWriter",
    runs=_each("INSERT", "insertInto")
    | _each("UNLOAD", "csv jdbc json orc parquet save text xml")
    | _each("CREATE_TABLE_AS_SELECT", "saveAsTable"),
    lazy=_set("bucketBy clusterBy format mode option options partitionBy sortBy"),
)
WRITER_V2 = Methods(
    "pyspark.sql.readwriter.DataFrameWriterV2",
    runs=_each("INSERT", "append overwrite overwritePartitions")
    | _each("CREATE_TABLE_AS_SELECT", "create createOrReplace replace"),
    lazy=_set("clusterBy option options partitionedBy tableProperty using"),
)
MERGE = Methods(
    "pyspark.sql.merge.MergeIntoWriter",
    runs=_each("MERGE", "merge"),
    lazy=_set(
        "WhenMatched WhenNotMatched WhenNotMatchedBySource whenMatched whenNotMatched"
        " whenNotMatchedBySource withSchemaEvolution"
    ),
)
STREAM_WRITER = Methods(
    "pyspark.sql.streaming.readwriter.DataStreamWriter",
    runs=_each("STREAM", "start toTable"),
    lazy=_set(
        "clusterBy foreach foreachBatch format option options outputMode partitionBy queryName trigger"
    ),
)
STREAM_READER = Methods(
    "pyspark.sql.streaming.readwriter.DataStreamReader",
    runs={},
    analyses=_set("changes csv json load orc parquet table text xml"),
    lazy=_set("format name option options schema"),
)
GROUPED = Methods(
    "pyspark.sql.group.GroupedData",
    runs={},
    # Without values, pivot collects the distinct ones at once.
    analyses=_set("pivot"),
    lazy=_set(
        "agg apply applyInArrow applyInPandas applyInPandasWithState avg cogroup count max mean min"
        " sum transformWithState transformWithStateInPandas"
    ),
)
CATALOG = Methods(
    "pyspark.sql.catalog.Catalog",
    runs={},
    analyses=_set(
        "databaseExists functionExists getCreateTableString getDatabase getFunction getTable"
        " getTableProperties isCached listCatalogs listColumns listDatabases listFunctions listPartitions"
        " listTables listViews tableExists"
    ),
    changes=_each("CREATE_TABLE", "createExternalTable createTable")
    | _each("CREATE_SCHEMA", "createDatabase")
    | _each("DROP_SCHEMA", "dropDatabase")
    | _each("DROP_TABLE", "dropTable")
    | _each("DROP_VIEW", "dropGlobalTempView dropTempView dropView")
    | _each("TRUNCATE_TABLE", "truncateTable")
    | _each("ANALYZE", "analyzeTable")
    | _each("CACHE", "cacheTable clearCache uncacheTable")
    | _each("REFRESH", "recoverPartitions refreshByPath refreshTable")
    | _each("USE", "setCurrentCatalog setCurrentDatabase"),
    lazy=_set("currentCatalog currentDatabase registerFunction"),
)
DELTA_TABLE = Methods(
    "delta.tables.DeltaTable",
    runs=_each("DELETE", "delete")
    | _each("UPDATE", "update")
    | _each("VACUUM", "vacuum")
    | _each("RESTORE", "restoreToTimestamp restoreToVersion")
    | _each("CREATE_TABLE", "clone cloneAtTimestamp cloneAtVersion")
    | _each("CONVERT", "convertToDelta")
    | _each("ALTER_TABLE", "addFeatureSupport dropFeatureSupport upgradeTableProtocol")
    | _each("UNKNOWN", "generate"),
    analyses=_set("detail forName forPath history isDeltaTable"),
    lazy=_set("alias create createIfNotExists createOrReplace merge optimize replace toDF"),
)
DELTA_MERGE = Methods(
    "delta.tables.DeltaMergeBuilder",
    runs=_each("MERGE", "execute"),
    lazy=_set(
        "whenMatchedDelete whenMatchedUpdate whenMatchedUpdateAll whenNotMatchedBySourceDelete"
        " whenNotMatchedBySourceUpdate whenNotMatchedInsert whenNotMatchedInsertAll"
        " withSchemaEvolution"
    ),
)
DELTA_BUILDER = Methods(
    "delta.tables.DeltaTableBuilder",
    runs=_each("CREATE_TABLE", "execute"),
    lazy=_set("addColumn addColumns clusterBy comment location partitionedBy property tableName"),
)
DELTA_OPTIMIZE = Methods(
    "delta.tables.DeltaOptimizeBuilder",
    runs=_each("OPTIMIZE", "executeCompaction executeZOrderBy"),
    lazy=_set("where"),
)

OWN_PLAN = frozenset({"DataFrame.collect"})
"""Actions that run the plan of the DataFrame itself, once, and nothing else; the others derive one."""

MAKES_RDD = frozenset({"DataFrame.checkpoint", "DataFrame.localCheckpoint", "DataFrame.rdd"})
"""Methods whose result is an RDD, or a DataFrame over one, with the rows of the DataFrame."""

SURFACE = (
    DATAFRAME,
    SESSION,
    READER,
    WRITER,
    WRITER_V2,
    MERGE,
    STREAM_READER,
    STREAM_WRITER,
    GROUPED,
    CATALOG,
    DELTA_TABLE,
    DELTA_MERGE,
    DELTA_BUILDER,
    DELTA_OPTIMIZE,
)
