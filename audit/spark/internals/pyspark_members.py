"""The table of internals, Python's half: methods that are replaced, and private attributes that are read.

In: the places of `api_surface`. Out: `PYTHON_SURFACES`, whose `python` members the probe looks for.
"""

from __future__ import annotations

from audit.spark.internals.surface import PythonMember, Side, Surface, python
from audit.spark.pyspark_api.api_surface import READER, SESSION, STREAM_WRITER, SURFACE

_WRAPPERS = "audit/capture/wrappers.py"
_PYSPARK = "pyspark.sql"
_FRAME = f"{_PYSPARK}.classic.dataframe.DataFrame"
# The parameters that wrappers look at, by position and by name.
_PARAMETERS: dict[tuple[str, str], tuple[str, ...]] = {
    (SESSION.owner, "sql"): ("sqlQuery", "args"),
    (SESSION.owner, "table"): ("tableName",),
    (READER.owner, "table"): ("tableName",),
    (READER.owner, "load"): ("path", "format", "schema"),
    **{(READER.owner, name): ("path",) for name in ("csv", "json", "orc")},
    **{(READER.owner, name): ("paths",) for name in ("parquet", "text")},
    (STREAM_WRITER.owner, "start"): ("path", "format", "outputMode"),
    (STREAM_WRITER.owner, "toTable"): ("tableName",),
    (STREAM_WRITER.owner, "foreachBatch"): ("func",),
    ("delta.tables.DeltaTable", "vacuum"): ("retentionHours",),
}


def wrapped() -> tuple[PythonMember, ...]:
    """Every method that `wrappers.install` replaces, with the parameters that its wrapper looks at."""
    names = {
        (methods.owner, name)
        for methods in SURFACE
        for name in (*methods.runs, *methods.analyses, *(methods.changes or {}))
    }
    names |= {(SESSION.owner, name) for name in ("getActiveSession", "newSession", "stop")}
    names |= {(STREAM_WRITER.owner, "foreachBatch")}
    return tuple(
        PythonMember(owner, name, _PARAMETERS.get((owner, name), ())) for owner, name in sorted(names)
    )


_METHODS = Surface(
    "Methods of PySpark and of Delta's Python that are replaced",
    Side.PYSPARK,
    (_WRAPPERS, "audit/spark/pyspark_api/api_surface.py"),
    "one call is one statement, with its user, its line and its result: PySpark's classes are wrapped while"
    " a session of"
    " the process is attached",
    "what the method runs is recorded by the listener alone, without its user's line, and is not governed"
    " before it runs",
    "a QueryExecutionListener sees executions, several a call, after they have ended; `spark.sql.extensions`"
    " sees plans",
    python=wrapped(),
)
_CALL_SITE = Surface(
    "The line that Spark's UI shows",
    Side.PYSPARK,
    (_WRAPPERS,),
    "shows the user's line for a `collect`, not the wrapper's",
    "Spark's UI shows a line of this package",
    "`SparkContext.setJobDescription` has one text for a thread, and would hide the user's own",
    python=python("pyspark.traceback_utils", "first_spark_call"),
)
_JVM_OBJECTS = Surface(
    "The JVM's objects behind Python's",
    Side.PYSPARK,
    ("audit/spark",),
    "the plan of a DataFrame, the state of a session, the options of a reader or writer",
    "nothing can be attached",
    "none: PySpark has no public way from its objects to the JVM's (only `DataFrame.explain` prints a plan)",
    python=python("pyspark.sql.session.SparkSession", "_jsparkSession", is_instance=True)
    + python(_FRAME, "_jdf", is_instance=True)
    + python("pyspark.sql.readwriter.DataFrameReader", "_jreader", is_instance=True)
    + python("pyspark.sql.readwriter.DataFrameReader", "_df")
    + python("pyspark.sql.readwriter.DataFrameWriter", "_jwrite", is_instance=True)
    + python("pyspark.sql.streaming.readwriter.DataStreamWriter", "_jwrite _df _spark", is_instance=True)
    + python("pyspark.sql.streaming.query.StreamingQuery", "_jsq", is_instance=True)
    + python("pyspark.core.rdd.RDD", "_jrdd", is_instance=True)
    + python("delta.tables.DeltaTable", "_jdt", is_instance=True),
)
_TEMPLATES = Surface(
    "The {…} templates of `spark.sql`",
    Side.PYSPARK,
    ("audit/spark/pyspark_api/sql_template.py",),
    "makes the temporary views of a template's DataFrames before the session is cloned in which it runs",
    "a write with a DataFrame in a template finds no table",
    "`spark.sql(text, **values)` makes and drops the views itself, in the session that runs the text",
    python=(
        PythonMember("pyspark.sql.sql_formatter.SQLStringFormatter", "format"),
        PythonMember("pyspark.sql.sql_formatter.SQLStringFormatter", "clear"),
    ),
)
_CONTEXT = Surface(
    "The running SparkContext and its connection to the JVM",
    Side.PYSPARK,
    ("audit/spark",),
    "whether a Spark runs in this process, whether it was stopped, and Py4J's view of the JVM",
    "nothing can be attached, or a stopped Spark is taken for a running one",
    "`SparkContext.getOrCreate` starts one; none tells without starting one",
    python=python("pyspark.core.context.SparkContext", "_active_spark_context _gateway _jvm")
    + python("pyspark.core.context.SparkContext", "_jsc", is_instance=True),
)
_GATEWAY = Surface(
    "The start of the JVM",
    Side.PYSPARK,
    ("audit/spark/embedded/spark.py", "audit/spark/embedded/class_archive.py"),
    "`audit.session()` starts the JVM itself, so that it prints to a file",
    "`audit.session()` does not start, or prints Spark's log; `audit.attach` is not touched",
    "`SparkSession.builder` starts it with the terminal as its output",
    python=(
        PythonMember("pyspark.java_gateway", "launch_gateway", ("conf", "popen_kwargs")),
        *python("pyspark.find_spark_home", "_find_spark_home"),
    ),
)

PYTHON_SURFACES = (_METHODS, _CALL_SITE, _JVM_OBJECTS, _TEMPLATES, _CONTEXT, _GATEWAY)
