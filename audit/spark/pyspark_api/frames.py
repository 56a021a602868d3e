"""DataFrames and tables of PySpark and Delta, and what they hold in the JVM.

In: a PySpark object. Out: facts about it, or a new DataFrame.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from audit.spark.jvm import java_class

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


MESSAGE_COLUMNS = "status STRING"
# PySpark 4.2 and Delta's Python 4.4 name the attribute differently in each class.
_SESSION_ATTRIBUTES = ("_session", "_spark", "_sparkSession", "session", "sparkSession")


def has_run(frame: Any) -> bool:
    """Whether a DataFrame only holds the result of a command."""
    # `commandExecuted` replaces a command by a CommandResult with its rows (Spark 4.2); a LocalRelation holds
    # its rows as well.
    return frame._jdf.queryExecution().commandExecuted().nodeName() in ("CommandResult", "LocalRelation")


def message_frame(spark: SparkSession, *texts: str) -> DataFrame:
    """What a command answers: a row for each text, in a column `status`; nothing at all for none.

    The rows are a part of the plan: no Spark job reads them.
    """
    from pyspark.sql import DataFrame

    context = spark.sparkContext
    if not texts:
        return DataFrame(spark._jsparkSession.emptyDataFrame(), spark)
    # createDataFrame of Python rows would make an RDD and, when it is read, a job with a Python worker.
    rows = java_class(context, "java.util.ArrayList")()
    gateway: Any = context._gateway
    for text in texts:
        values = gateway.new_array(java_class(context, "java.lang.Object"), 1)
        values[0] = text
        rows.add(java_class(context, "org.apache.spark.sql.RowFactory").create(values))
    schema = java_class(context, "org.apache.spark.sql.types.StructType").fromDDL(MESSAGE_COLUMNS)
    return DataFrame(spark._jsparkSession.createDataFrame(rows, schema), spark)


def is_frame(value: Any) -> bool:
    """Whether an object of PySpark is a DataFrame itself."""
    return "_jdf" in getattr(value, "__dict__", {})


def frame_of(value: Any) -> Any | None:
    """The DataFrame behind an object of PySpark: itself, or the one that a writer holds; None for none."""
    if hasattr(type(value), "_jdf") or is_frame(value):
        return value
    return getattr(value, "__dict__", {}).get("_df")


def query_execution_of(frame: Any) -> Callable[[], Any]:
    """Gives Spark's QueryExecution of a DataFrame; asking for it costs a call."""
    found: Callable[[], Any] = frame._jdf.queryExecution
    return found


def replaced_dataset(frame: Any, replacement: Callable[[Any], Any]) -> Any:
    """A DataFrame of the same kind and session around another Dataset of the JVM."""
    return type(frame)(replacement(frame._jdf), frame.sparkSession)


def session_held_by(value: Any) -> Any | None:
    """The session that an object of PySpark or Delta holds, itself included; None for none."""
    if is_session(value):
        return value
    attributes = getattr(value, "__dict__", {})
    found = next((attributes[name] for name in _SESSION_ATTRIBUTES if is_session(attributes.get(name))), None)
    frame = attributes.get("_df")
    return session_held_by(frame) if found is None and frame is not None else found


def is_session(value: Any) -> bool:
    """Whether a value is a SparkSession of the driver's own JVM."""
    from pyspark.sql import SparkSession

    return isinstance(value, SparkSession)


def sink_of(query: Any) -> str:
    """The sink of a StreamingQuery, as Spark describes it."""
    return str(query._jsq.streamingQuery().sink())


def run_id_of(query: Any) -> str:
    """The id of this run of a StreamingQuery."""
    return str(query.runId)


def java_table(table: Any, target: str, *, is_path: bool) -> Any:
    """The JVM's side of another `DeltaTable`, in the session of one; `clone` of Delta's Python gives that."""
    find = type(table).forPath if is_path else type(table).forName
    return find(table._spark, target)._jdt


def without_values(frame: Any, column: str) -> Any:
    """A DataFrame with NULL in a column of strings by strings."""
    from pyspark.sql import functions

    return frame.withColumn(column, functions.lit(None).cast("map<string,string>"))


def location_of(table: Any) -> str:
    """Where the table of a `DeltaTable` lies."""
    return str(table._jdt.deltaLog().dataPath().toString())  # Delta's Python gives it no other way
