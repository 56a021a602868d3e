"""The one module that knows Py4J: Spark's listener bus, job tags, sessions, Scala's options.

In: a SparkSession. Out: Python values. Everything here costs about 40 µs a JVM call, so what the
caller's thread needs is kept apart from what a worker may ask.
"""

from __future__ import annotations

import re
import secrets
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from zipfile import ZipFile

import orjson

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession

EXEMPT = "spark.audit.exempt"
"""Set to this process' secret, a session is the system's own: policies hide nothing from it."""
SECRET = secrets.token_hex(16)
_INITIALIZE = True
# By the connection to a JVM: the compiled classes of its class loaders.
_COMPILED: WeakKeyDictionary[Any, dict[tuple[int, str, str], tuple[Any, str]]] = WeakKeyDictionary()
_IMPORT = re.compile(r"^import .*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ExecutionStart:
    """A SQL execution began. `root_id` differs from `execution_id` for Delta's and Spark's own inner ones."""

    execution_id: int
    root_id: int
    tags: tuple[str, ...]
    description: str
    time_us: int


@dataclass(frozen=True, slots=True)
class ExecutionEnd:
    """A SQL execution ended; `EventQueue.query_execution` gives Spark's own object, `plan_id` its id."""

    execution_id: int
    time_us: int
    error: str
    name: str
    plan_id: int


@dataclass(frozen=True, slots=True)
class Marker:
    """All events posted before this marker have been delivered."""

    number: int


Event = ExecutionStart | ExecutionEnd | Marker


# The tags that `tagged` has set, by thread, as Spark keeps them.
_TAGS = threading.local()


class EventQueue:
    """Spark's SQL execution events, queued inside the JVM and drained from Python when it suits.

    A `java.beans.EventHandler` turns `onOtherEvent(e)` into `queue.offer(e)`: the listener bus never
    calls into Python, so a busy or paused driver stalls nothing. `Events.java` reads many in one call.
    """

    def __init__(self, context: SparkContext, name: str) -> None:
        self._marker = java_class(
            context, "org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates"
        )
        self._bus = context._jsc.sc().listenerBus()
        self._events = compiled(view(context), "audit", "Events")
        interface = java_class(context, "java.lang.Class").forName(
            "org.apache.spark.scheduler.SparkListenerInterface", _INITIALIZE, class_loader(view(context))
        )
        handler = java_class(context, "java.beans.EventHandler")
        self._listener = handler.create(interface, self._events.queue(), "offer", "", "onOtherEvent")
        self._bus.addToQueue(self._listener, name)
        self._markers = 0
        self._none = getattr(java_class(context, "scala.collection.immutable.Nil$"), "MODULE$")

    def close(self) -> None:
        """Stop listening; what is queued is dropped."""
        self._bus.removeListener(self._listener)
        self._events.close()

    def mark(self) -> int:
        """Post a marker behind everything posted so far; returns its number."""
        self._markers += 1
        # An accumulator update for an execution that no listener knows: every listener ignores it.
        self._bus.post(self._marker(-self._markers, self._none))
        return self._markers

    def drain(self) -> Iterator[Event]:
        """All events delivered so far, oldest first."""
        while read := orjson.loads(self._events.drain()):
            for kind, *values in read:
                yield _READERS[kind](*values)

    def query_execution(self, execution_id: int) -> Any:
        """Spark's own object of an execution that has ended (a JVM object); it can be asked for once."""
        return self._events.take(execution_id)

    def forget(self, execution_ids: Iterable[int]) -> None:
        """Nobody will ask for these."""
        self._events.forget(",".join(map(str, execution_ids)))


def _read_start(execution_id: int, root_id: int, tags: str, description: str, time_ms: int) -> ExecutionStart:
    named = tuple(tag for tag in tags.split(",") if tag)
    return ExecutionStart(execution_id, root_id, named, description, time_ms * 1000)


def _read_end(execution_id: int, error: str, name: str, time_ms: int, plan_id: int) -> ExecutionEnd:
    return ExecutionEnd(execution_id, time_ms * 1000, error, name, plan_id)


_READERS: dict[str, Callable[..., Event]] = {"S": _read_start, "E": _read_end, "M": Marker}


def compiled(jvm: Any, package: str, name: str, *beside: str) -> Any:
    """An instance of a class of this project's own Java, compiled by Janino, which Spark ships.

    Args:
        jvm: `spark.sparkContext._jvm`.
        package: the Python package that holds its source, in a file named as the class.
        name: the class.
        beside: files of the package whose classes it needs.
    """
    compiler, own = _compiled(jvm, package, name, *beside)
    return compiler.getClassLoader().loadClass(own).newInstance()


def shipped(context: SparkContext, package: str, name: str) -> Any:
    """As `compiled`, for a class whose instances run on executors: these load it from a jar."""
    compiler, own = _compiled(view(context), package, name)
    # Every executor to come asks for it: it goes with the SparkContext.
    jar = Path(tempfile.mkdtemp(dir=context._temp_dir), f"{own}.jar")  # noqa: SLF001
    with ZipFile(jar, "w") as archive:
        for class_name, code in compiler.getBytecodes().items():
            archive.writestr(f"{class_name}.class", bytes(code))
    context._jsc.addJar(jar.as_uri())
    return compiler.getClassLoader().loadClass(own).newInstance()


def _compiled(jvm: Any, package: str, name: str, *beside: str) -> tuple[Any, str]:
    """The compiler of a class, and the name that the class has got: once for all that this JVM audits."""
    loader = class_loader(jvm)
    known = _COMPILED.setdefault(jvm._gateway_client, {})  # noqa: SLF001  of all views of one JVM
    key = (jvm.java.lang.System.identityHashCode(loader), package, name)
    if key not in known:
        known[key] = _cooked(jvm, loader, package, (name, *beside))
    return known[key]


def _cooked(jvm: Any, loader: Any, package: str, names: Sequence[str]) -> tuple[Any, str]:
    compiler = getattr(jvm, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(loader)
    sources = [resources.files(package).joinpath(f"{one}.java").read_text("utf-8") for one in names]
    imports = sorted({line for source in sources for line in _IMPORT.findall(source)})
    source = "".join((*imports, *(_IMPORT.sub("", source) for source in sources)))
    # py4j 0.10 keeps methods by class name, whatever the loader: a second reader in one JVM
    # would be called with the first one's methods, so each class gets a name of its own.
    own = f"{names[0]}{uuid.uuid4().hex}"
    compiler.cook(re.sub(rf"\b{names[0]}\b", own, source))
    return compiler, own


def class_loader(jvm: Any) -> Any:
    """The class loader of the JVM's side of this thread, which knows Delta's jars."""
    return getattr(jvm, "java.lang.Thread").currentThread().getContextClassLoader()


def delta_log(spark: SparkSession, location: str) -> Any:
    """Delta's own log of a path, as this JVM knows it; of a path without a table, one without a commit."""
    log = java_class(spark.sparkContext, "org.apache.spark.sql.delta.DeltaLog")
    return log.forTable(spark._jsparkSession, location)


@contextmanager
def tagged(context: SparkContext, tag: str) -> Iterator[None]:
    """Spark marks each SQL execution that this thread starts inside with a job tag.

    Where a block outside this one has set the tag, that one removes it.
    """
    held: set[tuple[int, str]] = _TAGS.__dict__.setdefault("held", set())
    key = (id(context), tag)
    if key in held:
        yield
        return
    context.addJobTag(tag)
    held.add(key)
    try:
        yield
    finally:
        held.discard(key)
        if is_running(context):
            context.removeJobTag(tag)


def is_lazy(spark: SparkSession, text: str) -> bool:
    """Whether Spark runs a text at an action only, by Spark's own parser; True for what it rejects."""
    from pyspark.errors import ParseException

    try:
        plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    except ParseException:
        return True
    while plan.getClass().getSimpleName() == "UnresolvedWith":
        plan = plan.child()
    forname = java_class(spark.sparkContext, "java.lang.Class").forName
    prefix = "org.apache.spark.sql.catalyst.plans.logical."
    loader = plan.getClass().getClassLoader()
    eager = ("Command", "ParsedStatement", "CompoundBody")
    return not any(forname(prefix + name, _INITIALIZE, loader).isInstance(plan) for name in eager)


def has_run(frame: Any) -> bool:
    """Whether a DataFrame only holds the result of a command."""
    return frame._jdf.queryExecution().commandExecuted().nodeName() in ("CommandResult", "LocalRelation")


def hands_over(query_execution: Any, name: str) -> bool:
    """Whether an execution only hands over what a command has returned (a root of its own in Spark 4.2)."""
    return name != "command" and query_execution.commandExecuted().nodeName() == "CommandResult"


def is_micro_batch(query_execution: Any) -> bool:
    """Whether an execution is a micro-batch of a streaming query."""
    return str(query_execution.getClass().getSimpleName()) == "IncrementalExecution"


def reader_option(reader: Any, name: str) -> str | None:
    """An option of a DataFrameReader, whatever the case of its name."""
    found = option(reader._jreader.extraOptions().get(name))
    return None if found is None else str(found)


def reader_format(reader: Any) -> str:
    """The format of a DataFrameReader in lower case: its own, or the session's default."""
    return str(reader._jreader.source()).lower()


@contextmanager
def at_version(reader: Any, version: int) -> Iterator[None]:
    """A DataFrameReader reads a version of what it is given inside, whatever its options name."""
    java = reader._jreader
    held = java.extraOptions()
    options = held.removed("timestampAsOf").removed("path").updated("versionAsOf", str(version))
    getattr(java, "extraOptions_$eq")(options)
    try:
        yield
    finally:
        getattr(java, "extraOptions_$eq")(held)


def option(value: Any) -> Any | None:
    """A Scala Option as a value or None."""
    return value.get() if value.isDefined() else None


def some(context: SparkContext, value: Any) -> Any:
    """A Scala Option of a value; None gives Scala's None."""
    return java_class(context, "scala.Option").apply(value)


def sequence(values: Any) -> list[Any]:
    """A Scala Seq as a list."""
    return [values.apply(i) for i in range(values.size())]


def session_id(spark: SparkSession) -> str:
    """Spark's own UUID of a session."""
    return str(spark._jsparkSession.sessionUUID())


def current_schema(spark: SparkSession) -> tuple[str, str]:
    """The current catalog and schema; a multi-level namespace is joined by dots."""
    manager = spark._jsparkSession.sessionState().catalogManager()
    with _active(spark):
        return manager.currentCatalog().name(), ".".join(manager.currentNamespace())


@contextmanager
def _active(spark: SparkSession) -> Iterator[None]:
    """The session is the thread's active one: a catalog that is opened meanwhile keeps to its settings.

    Delta 4.4's asks for the active session once (AbstractDeltaCatalog). Under another one's default provider
    a CREATE OR REPLACE TABLE drops the table, then fails.
    """
    sessions = java_class(spark.sparkContext, "org.apache.spark.sql.classic.SparkSession")
    before = sessions.getActiveSession()
    sessions.setActiveSession(spark._jsparkSession)
    try:
        yield
    finally:
        if before.isDefined():
            sessions.setActiveSession(before.get())
        else:
            sessions.clearActiveSession()


def origin(query_execution: Any) -> tuple[str | None, int, int]:
    """The SQL text that a plan came from, with the first and last character of the part it stands for."""
    found = query_execution.logical().origin()
    text, first, last = (option(v) for v in (found.sqlText(), found.startIndex(), found.stopIndex()))
    return text, first or 0, last if last is not None else len(text or "") - 1


def plan_id(query_execution: Any) -> int:
    """The number of a QueryExecution, which a DataFrame keeps over all its actions."""
    return int(query_execution.id())


def session_of(query_execution: Any) -> str:
    """Spark's UUID of the session that a plan belongs to."""
    return str(query_execution.sparkSession().sessionUUID())


def sql_text(query_execution: Any) -> str | None:
    """The SQL text that a plan came from (`spark.sql`), None for a DataFrame's."""
    return option(query_execution.logical().origin().sqlText())


def function_identifier(spark: SparkSession, parts: Sequence[str]) -> Any:
    """Spark's FunctionIdentifier of `name`, `schema.name` or `catalog.schema.name`."""
    context = spark.sparkContext
    *above, name = parts
    catalog, schema = (None, None, *above)[-2:]
    some = java_class(context, "scala.Option").apply
    identifier = java_class(context, "org.apache.spark.sql.catalyst.FunctionIdentifier")
    return identifier(name, some(schema), some(catalog))


def is_variable(spark: SparkSession, name: str) -> bool:
    """Whether a session variable of that name is declared; `name` in lower case (Spark 4.2 keys them so)."""
    nothing = getattr(java_class(spark.sparkContext, "scala.collection.immutable.Nil$"), "MODULE$")
    manager = spark._jsparkSession.sessionState().catalogManager().tempVariableManager()
    return bool(manager.get(getattr(nothing, "$colon$colon")(name)).isDefined())


def sql_function(spark: SparkSession, metadata: Any) -> Any:
    """Spark's SQLFunction, from a persistent one's metadata or a temporary one's ExpressionInfo."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    function = java_class(spark.sparkContext, "org.apache.spark.sql.catalyst.catalog.SQLFunction")
    if metadata.getClass().getSimpleName() == "ExpressionInfo":
        return function.fromExpressionInfo(metadata, parser)
    return function.fromCatalogFunction(metadata, parser)


def is_running(context: SparkContext) -> bool:
    """Whether a SparkContext has not been stopped."""
    return context._jsc is not None


def said(spark: SparkSession, *texts: str) -> DataFrame:
    """What a command answers: a row for each text, in a column `status`; nothing at all for none.

    The rows are a part of the plan: no Spark job reads them.
    """
    from pyspark.sql import DataFrame

    context = spark.sparkContext
    if not texts:
        return DataFrame(spark._jsparkSession.emptyDataFrame(), spark)
    rows = java_class(context, "java.util.ArrayList")()
    gateway: Any = context._gateway
    for text in texts:
        values = gateway.new_array(java_class(context, "java.lang.Object"), 1)
        values[0] = text
        rows.add(java_class(context, "org.apache.spark.sql.RowFactory").create(values))
    schema = java_class(context, "org.apache.spark.sql.types.StructType").fromDDL("status STRING")
    return DataFrame(spark._jsparkSession.createDataFrame(rows, schema), spark)


def java_class(context: SparkContext, name: str) -> Any:
    """A class of the JVM by its full name.

    Not by `jvm.java.util.ArrayList`: Py4J asks for each part of such a chain whether it is a class, and the
    JVM looks through all its jars for it (3 to 4 ms instead of 0.2).
    """
    return getattr(view(context), name)


def view(context: SparkContext) -> Any:
    """The JVM of a running SparkContext."""
    jvm = context._jvm
    assert jvm is not None, "the SparkContext has been stopped"  # noqa: S101
    return jvm


def location_of(table: Any) -> str:
    """Where the table of a `DeltaTable` lies."""
    return str(table._jdt.deltaLog().dataPath().toString())  # noqa: SLF001 - Delta's Python gives it no other way
