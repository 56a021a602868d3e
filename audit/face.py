"""The public face: make a session audited, act as somebody, see that everything is on record.

In: a SparkSession, and options by name. Out: an `Interceptor`, and tables to ask. Each function says
which errors it raises; all are `AuditError`s.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from audit import identity, registry
from audit.analysis.job import Intent
from audit.capture.interceptor import Interceptor
from audit.config import load
from audit.covered import Coverage, measure_coverage
from audit.driver import SUPPRESS_TAG
from audit.errors import AttachError, ProcedureError
from audit.identity import Identity, user_tag
from audit.jvm import tagged

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.clock import Clock

P = ParamSpec("P")
T = TypeVar("T")


def session(
    root: str | None = None,
    user: str | None = None,
    *,
    app_name: str = "audit",
    master: str = "local[*]",
    conf: dict[str, str] | None = None,
    **options: Any,
) -> SparkSession:
    """The embedded default: Spark with Delta and a metastore under `root`, already audited.

    Args:
        root: folder of the audit tables, of the warehouse and of the metastore; `.audit` by default.
        user: who runs the statements; the user of the operating system by default.
        app_name: Spark's name of the application.
        master: Spark's master.
        conf: more Spark configuration.
        options: further fields of `audit.config.Config`.

    Raises:
        JavaNotFound: Java 17 is missing.
        ConfigInvalid: an option that does not exist or cannot have that value.
    """
    from audit.embedded.spark import embedded

    config = load({"root": root, "user": user, **options})
    spark = embedded(config.root, app_name=app_name, master=master, conf=conf)
    attach(spark, root=root, user=user, **options)
    return spark


def attach(
    spark: SparkSession,
    user: str | None = None,
    root: str | None = None,
    *,
    roles: Sequence[str] = (),
    clock: Clock | None = None,
    **options: Any,
) -> Interceptor:
    """Make an existing session audited; a session that already is stays as it is.

    Args:
        spark: any classic SparkSession with Delta, on any catalog that it has.
        user: who runs its statements; the user of the operating system by default.
        root: folder of the audit tables, a Hadoop path; `.audit` by default.
        roles: the roles in force, the primary one first.
        clock: tells the time in UTC microseconds; the machine's by default.
        options: further fields of `audit.config.Config`.

    Raises:
        AttachError: the session has no Delta, is a Spark Connect client, or is audited under another root.
        SpoolUnavailableError: the root cannot be written.
    """
    config = load({"user": user, "root": root, **options})
    given = Identity(config.user, tuple(roles) or ((config.role,) if config.role else ()))
    return registry.attach(spark, config, given, clock)


def detach(spark: SparkSession) -> None:
    """Undo `attach`: what is on record is taken in, PySpark's own methods stand again."""
    registry.detach(spark)


def flush(spark: SparkSession) -> None:
    """Return when everything recorded so far can be queried.

    Raises:
        AttachError: the session is not audited.
        IngestError: the tables could not be written; the records stay in the spool.
    """
    _of(spark).driver.flush()


def coverage(spark: SparkSession) -> Coverage:
    """How much of what ran since the attach was analysed in full.

    Raises:
        AttachError: the session is not audited.
    """
    interceptor = _of(spark)
    interceptor.driver.worker.drain()
    return measure_coverage(interceptor.driver)


@contextmanager
def as_user(spark: SparkSession, user: str, roles: Sequence[str] = ()) -> Iterator[None]:
    """Statements of this thread (and task) inside run on behalf of `user`.

    Raises:
        AttachError: the session is not audited.
    """
    _of(spark)
    # The tag tells the listener whose an execution is that passes the front door by.
    with identity.acting_as(Identity(user, tuple(roles))), tagged(spark.sparkContext, user_tag(user)):
        yield


@contextmanager
def suppress() -> Iterator[None]:
    """The audit's own reads and writes: statements of this thread inside are not recorded."""
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    with identity.suppress(), nullcontext() if context is None else tagged(context, SUPPRESS_TAG):
        yield


def procedure(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a Python function as a stored procedure: one record for each call, and what it runs points at it.

    Its SparkSession is the first one among its arguments, else the active session.

    Raises:
        ProcedureError: a generator or a coroutine function: what it runs would run after the call.
    """
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise ProcedureError(
            f"{function.__qualname__} is a generator or a coroutine, which runs after its call has ended",
            "mark the function that runs it to its end",
        )

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        interceptor = _interceptor_of((*args, *kwargs.values()))
        if interceptor is None or identity.is_suppressed():
            return function(*args, **kwargs)
        name = f"{function.__module__}.{function.__qualname__}"
        intent = Intent(f"CALL {name}", "CALL", "audit.procedure", procedure=name)
        return interceptor.run_procedure(intent, lambda: function(*args, **kwargs))

    return called


def _interceptor_of(arguments: Sequence[Any]) -> Interceptor | None:
    from pyspark.sql import SparkSession

    sessions = [a for a in arguments if isinstance(a, SparkSession)]
    spark = sessions[0] if sessions else SparkSession.getActiveSession()
    return registry.find(spark) if spark is not None else None


def _of(spark: SparkSession) -> Interceptor:
    interceptor = registry.find(spark)
    if interceptor is None:
        raise AttachError("this SparkSession is not audited", "call audit.attach(spark) first")
    return interceptor
