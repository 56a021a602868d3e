"""The table of internals, the JVM's half: what is read or changed in Spark, Delta, Hive's client and the JDK.

In: nothing. Out: `JVM_SURFACES`. What Java code calls directly its compiler checks, against the jars of the
supported versions; here is what no compiler sees, and state of Spark's that is changed.
"""

from __future__ import annotations

from audit.spark.internals.surface import Side, Surface, classes, fields, methods, words

_CATALYST = "org.apache.spark.sql.catalyst"
_CLASSIC = "org.apache.spark.sql.classic"
_EXECUTION = "org.apache.spark.sql.execution"
_LOGICAL = f"{_CATALYST}.plans.logical"
_ANALYSIS = f"{_CATALYST}.analysis"
_DELTA = "org.apache.spark.sql.delta"
_SEQ = "scala.collection.immutable.Seq"
_OPTIONS = f"{_CATALYST}.util.CaseInsensitiveMap"
_OPTION = "scala.Option"
_JAVA = "java/src/main/java/io/sparkaccesshistory"
_ENFORCEMENT = f"{_JAVA}/policies/Enforcement.java"
_MARKS = f"{_JAVA}/capture/CommitMarks.java"
_FACTS = f"{_JAVA}/capture/PlanFacts.java"
_MEMBERS = f"{_JAVA}/capture/Members.java"
_STORE = f"{_JAVA}/timetravel/CatalogStore.java"

_RULES = Surface(
    "Rules of plan normalisation",
    Side.SPARK,
    (f"{_JAVA}/policies/EnforcementRule.java",),
    "puts the rule that enforces policies and privileges into a session that exists already",
    "`audit.attach` cannot govern such a session; one started with the extension is not touched",
    "`SparkSessionExtensions.injectPlanNormalizationRule` works for sessions that are built later only: the"
    " state of a"
    " session keeps its rules in a final field",
    fields("org.apache.spark.sql.internal.SessionState", planNormalizationRules=_SEQ)
    + methods("org.apache.spark.sql.SparkSessionExtensions", "injectPlanNormalizationRule/1")
    + fields(
        "org.apache.spark.sql.SparkSessionExtensions",
        planNormalizationRules="scala.collection.mutable.Buffer",
    )
    + methods(f"{_CLASSIC}.SparkSession", "extensions sessionState"),
    reflective=words("planNormalizationRules"),
)
_CACHES = Surface(
    "The cache manager's look at cached plans",
    Side.SPARK,
    (_ENFORCEMENT,),
    "tells a plan that Spark normalises to compare it with its caches (after a change of the table) from one"
    " that a"
    " user reads: the first needs no privilege, and matches what is cached before policies",
    "a cached table is not refreshed after a change by somebody for whom policies hide something of it",
    "none: CacheManager.recacheByPlan makes a plain QueryExecution of the relation, which tells nothing of"
    " its purpose;"
    " so the caller's frame is looked for on the stack",
    methods(
        f"{_EXECUTION}.CacheManager",
        "recacheByPlan/2 recacheTableOrView/3 recacheByPath/2 recacheByCondition/2",
    ),
    reflective=words("recache"),
)
_FUNCTIONS = Surface(
    "The registry of built-in functions",
    Side.SPARK,
    (f"{_JAVA}/policies/expressions/ContextFunctions.java",),
    "`current_role()` and its like may stand in the text of a view, and so have to be built in",
    "a view with `current_role()` cannot be made, or cannot be read by another session",
    "`SparkSessionExtensions.injectFunction` reaches sessions that are built later only, and Spark takes"
    " what it"
    " registers for temporary: a view refuses it",
    methods(f"{_ANALYSIS}.FunctionRegistry", "builtin")
    + methods(f"{_ANALYSIS}.FunctionRegistry", "createOrReplaceTempFunction/3 dropFunction/1"),
)
_STREAM_WRITER = Surface(
    "What a stream's writer has been told",
    Side.SPARK,
    (_ENFORCEMENT,),
    "the path, and whether the stream appends, before it starts: a stream into the audit's own tables, or"
    " one that"
    " replaces what policies hide, is refused",
    "no stream can be started from an audited session",
    "none: DataStreamWriter shows neither; PySpark's keeps only the JVM's object",
    fields(
        f"{_CLASSIC}.DataStreamWriter",
        extraOptions=_OPTIONS,
        outputMode="org.apache.spark.sql.streaming.OutputMode",
    ),
    reflective=words("extraOptions outputMode"),
)
_COMMIT_MARKS = Surface(
    "The mark of a statement's commits",
    Side.SPARK,
    (_MARKS,),
    "the settings of a session answer Delta, when it commits, with the statement that the thread runs",
    "Delta's commits are not marked with their statement: AT (STATEMENT => …) finds no version of them",
    "none: a setting of a session is one for all its threads, and Spark has no hook for Delta's commits",
    fields("org.apache.spark.sql.internal.SQLConf", reader="org.apache.spark.internal.config.ConfigReader")
    + methods("org.apache.spark.internal.config.ConfigReader", "get/1")
    + methods("org.apache.spark.SparkContext", "getJobTags"),
    reflective=words("reader"),
)
_CATALOG_TABLE = Surface(
    "Final fields of what the catalog knows of a table",
    Side.SPARK,
    (_STORE,),
    "makes a dropped table's entry external, so that DROP leaves its files, and moves its location",
    "DROP TABLE of an audited session deletes the files, or is refused",
    "`CatalogTable.copy` takes 22 parameters, which differ between Spark's versions; ALTER TABLE cannot"
    " change either",
    fields(
        f"{_CATALYST}.catalog.CatalogTable",
        tableType=f"{_CATALYST}.catalog.CatalogTableType",
        storage=f"{_CATALYST}.catalog.CatalogStorageFormat",
    )
    + fields(f"{_CATALYST}.catalog.CatalogStorageFormat", locationUri=_OPTION),
    reflective=words("tableType locationUri"),
)
_HIVE = Surface(
    "Hive's client behind Spark's catalog",
    Side.HIVE,
    (_STORE,),
    "drops a schema with all that is in it, and leaves each file where it is, so that UNDROP SCHEMA brings"
    " it back",
    "DROP SCHEMA … CASCADE of an audited session is refused, where the catalog is Hive's",
    "ExternalCatalog.dropDatabase deletes the folders of managed tables: it has no parameter for that,"
    " Hive's has",
    methods("org.apache.spark.sql.hive.HiveExternalCatalog", "client")
    + methods("org.apache.spark.sql.hive.client.HiveClientImpl", "client withHiveState/1")
    + methods("org.apache.hadoop.hive.ql.metadata.Hive", "dropDatabase/4"),
    reflective=words("client withHiveState dropDatabase"),
)
_PLAN_RELATIONS = Surface(
    "Relations of an analyzed plan",
    Side.SPARK,
    (_FACTS, _MEMBERS),
    "which table, file or stream a plan reads or writes: names, locations, formats, columns",
    "records lack the objects of DataFrames, streams and files, or name them by their paths",
    "none: plans are internal; `DataFrame.inputFiles` knows files alone",
    methods(f"{_EXECUTION}.datasources.LogicalRelation", "relation catalogTable")
    + methods(f"{_CATALYST}.catalog.HiveTableRelation", "tableMeta")
    + methods(f"{_EXECUTION}.datasources.v2.DataSourceV2Relation", "table catalog identifier")
    + methods(
        f"{_CATALYST}.streaming.StreamingRelationV2", "table catalog identifier sourceName extraOptions"
    )
    + methods(f"{_EXECUTION}.datasources.v2.DataSourceV2ScanRelation", "relation")
    + methods(
        f"{_EXECUTION}.datasources.v2.StreamingDataSourceV2Relation", "table catalog identifier options"
    )
    + methods(f"{_EXECUTION}.datasources.jdbc.JDBCRelation", "jdbcOptions")
    + methods(f"{_EXECUTION}.datasources.jdbc.JDBCOptions", "url tableOrQuery")
    + methods(f"{_EXECUTION}.streaming.runtime.StreamingRelation", "sourceName")
    + methods(f"{_EXECUTION}.streaming.runtime.StreamingExecutionRelation", "catalogTable")
    + methods(f"{_EXECUTION}.datasources.FileIndex", "rootPaths")
    + methods(f"{_EXECUTION}.datasources.v2.FileTable", "fileIndex formatName schema")
    + methods("org.apache.spark.sql.connector.catalog.V1Table", "v1Table catalogTable name")
    + fields(f"{_EXECUTION}.streaming.sinks.FileStreamSink", path="java.lang.String")
    + classes(
        f"{_EXECUTION}.streaming.sources.ForeachBatchSink",
        f"{_EXECUTION}.streaming.sources.WriteToMicroBatchDataSource",
        f"{_EXECUTION}.streaming.sources.WriteToMicroBatchDataSourceV1",
    ),
    reflective=words(
        "relation table catalogTable tableMeta catalog identifier sourceName v1Table path fileIndex"
        " formatName rootPaths jdbcOptions url tableOrQuery options extraOptions sourceOptions"
    ),
)
_PLAN_NAMES = Surface(
    "Names and changes in an analyzed plan",
    Side.SPARK,
    (_FACTS, _MEMBERS),
    "what DDL names and changes: schemas, views, columns with their types; the session's current catalog and"
    " schema",
    "records of DDL lack columns, or name objects without their schema",
    "none: SparkListener events and QueryExecution show plans, whose parts are internal",
    methods(f"{_ANALYSIS}.ResolvedNamespace", "catalog namespace")
    + methods(f"{_ANALYSIS}.ResolvedTempView", "identifier")
    + methods(f"{_ANALYSIS}.ResolvedTable", "catalog identifier table")
    + methods(f"{_ANALYSIS}.ResolvedPersistentView", "catalog identifier")
    + methods("org.apache.spark.sql.connector.catalog.CatalogPlugin", "name")
    + methods("org.apache.spark.sql.connector.catalog.Identifier", "name namespace")
    + methods(f"{_LOGICAL}.AlterColumnSpec", "column newDataType")
    + methods(f"{_LOGICAL}.QualifiedColType", "colName dataType")
    + methods(f"{_ANALYSIS}.ResolvedIdentifier", "catalog identifier")
    + methods(f"{_LOGICAL}.ColumnDefinition", "name dataType")
    + methods(f"{_ANALYSIS}.FieldName", "name")
    + methods("org.apache.spark.sql.types.DataType", "catalogString")
    + methods("org.apache.spark.sql.types.StructField", "name dataType")
    + methods(f"{_CLASSIC}.SparkSession", "sessionState")
    + methods("org.apache.spark.sql.internal.SessionState", "conf catalogManager")
    + methods("org.apache.spark.sql.connector.catalog.CatalogManager", "currentNamespace currentCatalog")
    + classes(f"{_ANALYSIS}.PersistedView", f"{_EXECUTION}.command.AlterViewAsCommand"),
    reflective=words(
        "catalog namespace identifier name table column newDataType colName dataType catalogString"
        " sessionState conf"
        " catalogManager currentNamespace currentCatalog"
    ),
)
_PLAN_EXPRESSIONS = Surface(
    "Parts of a plan that its product does not show",
    Side.SPARK,
    (_FACTS, _MEMBERS),
    "columns of a struct by name, bodies of SQL functions, and a checkpointed DataFrame's cut-off plan",
    "lineage through these stops at the struct, the function or the checkpoint",
    "none: `TreeNode.toJSON` takes longer than the analysis itself, and leaves out what is in a second"
    " parameter list",
    methods(f"{_CATALYST}.expressions.GetStructField", "name extractFieldName")
    + methods(f"{_EXECUTION}.LogicalRDD", "otherCopyArgs")
    + methods(f"{_CATALYST}.catalog.SQLFunction", "name")
    + methods(f"{_CATALYST}.FunctionIdentifier", "unquotedString")
    + classes(f"{_ANALYSIS}.SQLScalarFunction"),
    reflective=words("name extractFieldName otherCopyArgs unquotedString"),
)
_RDD_ORIGINS = Surface(
    "The plan behind an RDD",
    Side.SPARK,
    (f"{_JAVA}/capture/StoredFrames.java", f"{_JAVA}/capture/RddOrigins.java", _FACTS),
    "the sources of what is made of `DataFrame.rdd`, of a checkpoint, and of what foreachBatch is given",
    "records of such statements are partial, without their sources",
    "none: a plan over an RDD knows its columns and nothing else",
    methods(f"{_EXECUTION}.LogicalRDD", "rdd")
    + methods(f"{_EXECUTION}.SQLExecution", "getQueryExecution/1 EXECUTION_ID_KEY")
    + methods("org.apache.spark.rdd.RDD", "dependencies"),
)
_DELTA_FACTS = Surface(
    "The Delta table behind a plan",
    Side.DELTA,
    (_FACTS, _MEMBERS),
    "a table's id, its version as read, its schema and partitions, its location; what a CLONE copies",
    "records lack versions and ids of tables: a renamed table is taken for another one",
    "`DeltaTable.detail` runs a query of its own, of the newest version; a plan's own version stands in its"
    " plan alone",
    methods(f"{_DELTA}.catalog.DeltaTableV2", "path catalogTable v1Table initialSnapshot deltaLog")
    + methods(f"{_DELTA}.files.TahoeFileIndex", "deltaLog rootPaths path")
    + methods(f"{_DELTA}.files.TahoeLogFileIndex", "snapshotAtAnalysis")
    + methods(f"{_DELTA}.DeltaLog", "unsafeVolatileSnapshot")
    + methods(f"{_DELTA}.SnapshotDescriptor", "version metadata schema")
    + methods(f"{_DELTA}.Snapshot", "path")
    + methods(f"{_DELTA}.actions.Metadata", "id partitionColumns")
    + methods(f"{_DELTA}.commands.CloneTableCommand", "sourceTable")
    + methods(f"{_DELTA}.commands.CloneSource", "catalogTable snapshot schema name")
    + methods(f"{_DELTA}.sources.DeltaSink", "path"),
    reflective=words(
        "path catalogTable v1Table initialSnapshot deltaLog snapshotAtAnalysis unsafeVolatileSnapshot"
        " version metadata"
        " schema id partitionColumns sourceTable snapshot name getName getParent"
    ),
)
_PARSER = Surface(
    "Spark's parser, from Python",
    Side.SPARK,
    ("audit/spark/plans/query_executions.py", _ENFORCEMENT),
    "whether Spark runs a text at an action only, and what a CREATE VIEW defines",
    "a query that sqlglot cannot read is recorded when it is built, not when it runs",
    "none: PySpark shows no parsed plan",
    methods("org.apache.spark.sql.internal.SessionState", "sqlParser")
    + methods(f"{_CATALYST}.parser.ParserInterface", "parsePlan/1")
    + classes(
        f"{_LOGICAL}.Command",
        f"{_LOGICAL}.ParsedStatement",
        f"{_LOGICAL}.CompoundBody",
        f"{_LOGICAL}.UnresolvedWith",
    ),
)
_PARSERS = Surface(
    "The parser of a session",
    Side.SPARK,
    (f"{_JAVA}/statements/StatementParsers.java",),
    "puts the parser that knows this project's statements into a session that exists already",
    "inside scripts and EXECUTE IMMEDIATE, and for callers in the JVM, such statements are Spark's syntax"
    " errors, and VACUUM and DROP are not watched over; sessions started with the extension are not touched",
    "`SparkSessionExtensions.injectParser` works for sessions that are built later only: the state of a"
    " session keeps its parser in a final field",
    fields("org.apache.spark.sql.internal.SessionState", sqlParser=f"{_CATALYST}.parser.ParserInterface")
    + methods("org.apache.spark.sql.SparkSessionExtensions", "injectParser/1")
    + fields("org.apache.spark.sql.SparkSessionExtensions", parserBuilders="scala.collection.mutable.Buffer"),
    reflective=words("sqlParser parserBuilders"),
)
_BUS = Surface(
    "The listener bus",
    Side.SPARK,
    ("audit/spark/plans/events.py",),
    "SQL executions are queued in the JVM by a queue of the bus of their own, and a marker behind all events"
    " posted"
    " tells that they are delivered",
    "executions that pass by PySpark's methods are not recorded, and `flush` does not know when it is done",
    "`SparkContext.addSparkListener` shares the queue of all listeners: one that stalls would stall the"
    " records",
    methods("org.apache.spark.SparkContext", "listenerBus")
    + methods("org.apache.spark.scheduler.LiveListenerBus", "addToQueue/2 removeListener/1")
    + fields(f"{_EXECUTION}.ui.SparkListenerSQLExecutionEnd", qe=f"{_EXECUTION}.QueryExecution"),
)

JVM_SURFACES = (
    _RULES,
    _CACHES,
    _FUNCTIONS,
    _STREAM_WRITER,
    _COMMIT_MARKS,
    _CATALOG_TABLE,
    _HIVE,
    _PLAN_RELATIONS,
    _PLAN_NAMES,
    _PLAN_EXPRESSIONS,
    _RDD_ORIGINS,
    _DELTA_FACTS,
    _PARSER,
    _PARSERS,
    _BUS,
)
