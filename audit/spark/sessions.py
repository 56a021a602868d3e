"""Sessions of Spark: which one is active, its current schema, and sessions of the audit's own.

In: a SparkSession. Out: facts about it, or a session beside it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from audit.core.errors import AttachError
from audit.spark.jvm import java_class

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession


EXEMPT = "spark.audit.exempt"
"""Set to this process' secret, a session is the system's own: policies hide nothing from it."""
# Random for each process: a user can set the property and must not be able to guess the value.
SECRET = secrets.token_hex(16)
# A new thread begins with an empty context, as for `audit.core.identity`.
_OF_BLOCK: ContextVar[SparkSession | None] = ContextVar("audit_session_of_block", default=None)


def session_id(spark: SparkSession) -> str:
    """Spark's own UUID of a session."""
    return str(spark._jsparkSession.sessionUUID())


def with_variables(spark: SparkSession, text: str) -> str:
    """A text with `${…}` replaced, as Spark's parser does, so that it is read as Spark reads it."""
    if "${" not in text:
        return text
    with active_session(spark):  # whose settings hold the values
        substitution = java_class(spark.sparkContext, "org.apache.spark.sql.internal.VariableSubstitution")
        return str(substitution().substitute(text))


def require_session(spark: Any) -> SparkSession:
    """The same, if it is a SparkSession that has not been stopped.

    Raises:
        AttachError: it is something else, a Spark Connect client, or it has been stopped.
    """
    from pyspark.sql import SparkSession

    given = "None" if spark is None else f"a {type(spark).__name__}"
    if not isinstance(spark, SparkSession) and not type(spark).__module__.startswith("pyspark.sql.connect"):
        raise AttachError(
            f"{given} is no SparkSession", "give the session that runs your statements, as `spark`"
        )
    # The attribute is the classic session's alone: a Spark Connect session has no JVM in this process.
    if not hasattr(spark, "_jsparkSession"):
        raise AttachError(
            "a Spark Connect client cannot be audited from here: its statements run elsewhere",
            "attach in the driver of the Connect server",
        )
    if not is_running(spark.sparkContext):
        raise AttachError(
            "this SparkSession has been stopped, and with it its audit ended",
            "start another one with SparkSession.builder.getOrCreate(), or audit.session()",
        )
    found: SparkSession = spark
    return found


def is_stopped(spark: Any) -> bool:
    """Whether a value is a session whose SparkContext has been stopped."""
    return hasattr(spark, "_jsparkSession") and not is_running(spark.sparkContext)


def is_running(context: SparkContext) -> bool:
    """Whether a SparkContext has not been stopped."""
    # SparkContext.stop sets it to None (PySpark 4.2).
    return context._jsc is not None


def active_context() -> SparkContext | None:
    """The SparkContext of this process, None where there is none."""
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def current_schema(spark: SparkSession) -> tuple[str, str]:
    """The current catalog and schema; a multi-level namespace is joined by dots."""
    manager = spark._jsparkSession.sessionState().catalogManager()
    with active_session(spark):
        return manager.currentCatalog().name(), ".".join(manager.currentNamespace())


@contextmanager
def active_session(spark: SparkSession) -> Iterator[None]:
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


@contextmanager
def session_of_block(spark: SparkSession) -> Iterator[None]:
    """A block of `as_user`: PySpark's active session is this one."""
    token = _OF_BLOCK.set(spark)
    try:
        yield
    finally:
        _OF_BLOCK.reset(token)


def of_block() -> SparkSession | None:
    """The session of the innermost block of `as_user`; None outside of one, or where it has been stopped.

    PySpark's own active session is the first of the process, on every thread (`SparkSession._activeSession`,
    4.2), and pandas on Spark reads by it.
    """
    found = _OF_BLOCK.get()
    return None if found is None or is_stopped(found) else found


# Delta reads a table's state in 50 tasks; the audit tables have few files. What replaces RUNNING rows holds
# more than it replaces, which Delta would refuse. Files of 64 MiB are left as they are by OPTIMIZE, so
# that a day is not rewritten whole again and again (default 1 GiB). A filter inferred from `inline` would
# parse each record's JSON a second time.
OWN = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.maxPartitionBytes": str(32 << 20),
    "spark.sql.optimizer.excludedRules": "org.apache.spark.sql.catalyst.optimizer.InferFiltersFromGenerate",
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false",
    "spark.databricks.delta.optimize.minFileSize": str(64 << 20),
    # The embedded session sets it for the tables of users.
    "spark.databricks.delta.properties.defaults.enableInCommitTimestamps": "false",
}


def exempt_session(session: SparkSession) -> None:
    """Let a session of the system's own read everything as it is, past the policies."""
    session.conf.set(EXEMPT, SECRET)


@contextmanager
def _frames_of_rdds_kept() -> Iterator[None]:
    """A block that makes a session of PySpark's; afterwards `rdd.toDF()` is of the user's session as before.

    PySpark (4.2) has each new session replace `RDD.toDF` by one of its own. A frame of the audit's would show
    a user a session that no policy governs.
    """
    from pyspark import RDD

    before = RDD.__dict__.get("toDF")
    try:
        yield
    finally:
        if before is not None:
            RDD.toDF = before  # type: ignore[method-assign]


def new_session(spark: SparkSession) -> SparkSession:
    """A new session beside `spark`, for the audit's own work."""
    with _frames_of_rdds_kept():
        return spark.newSession()


def session_of(context: SparkContext, java_session: Any) -> SparkSession:
    """A session of the JVM as PySpark's."""
    from pyspark.sql import SparkSession

    with _frames_of_rdds_kept():
        return SparkSession(context, java_session)


def own_session(spark: SparkSession) -> SparkSession:
    """A new session beside `spark`, with the audit's settings."""
    session = new_session(spark)
    for key, value in OWN.items():
        session.conf.set(key, value)
    exempt_session(session)
    return session
