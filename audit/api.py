"""The public API: attach to a session, act as another user, flush records.

In: a SparkSession, and options by name. Out: an `AuditedSession`, and tables to ask. Each function says
which errors it raises; all are `AuditError`s.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from audit import attached_sessions
from audit.analysis.work_items import StatementRequest
from audit.capture.audited_session import AuditedSession
from audit.capture.coverage import Coverage, measure_coverage
from audit.core import identity
from audit.core.config import LONGEST_TAG, load
from audit.core.errors import AttachError, ConfigInvalid, ProcedureError
from audit.core.identity import Identity, Tagging, user_tag
from audit.spark.pyspark_api import job_tags
from audit.spark.sessions import is_stopped, require_session, session_of_block
from audit.spark.unrecorded import unrecorded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.core.clock import Clock

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
        options: further fields of `audit.core.config.Config`.

    Raises:
        JavaNotFound: Java 17 is missing.
        ConfigInvalid: an option that does not exist or cannot have that value.
    """
    # The command line starts without PySpark, whose import takes 0.3 s.
    from audit.spark.embedded.spark import embedded

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
) -> AuditedSession:
    """Make an existing session audited; a session that already is stays as it is.

    Args:
        spark: any classic SparkSession with Delta, on any catalog that it has.
        user: who runs its statements; the user of the operating system by default.
        root: folder of the audit tables, a Hadoop path; `.audit` by default.
        roles: the roles in force, the primary one first.
        clock: tells the time in UTC microseconds; the machine's by default.
        options: further fields of `audit.core.config.Config`.

    Raises:
        AttachError: it is no running session, has no Delta, is a Spark Connect client, or is audited under
            another root.
        ConfigInvalid: an option that does not exist or cannot have that value.
        RootUnreachable: Spark does not know the file system of the root.
        SpoolUnavailableError: the root cannot be written.
    """
    require_session(spark)
    config = load({"user": user, "root": root, **options})
    _require_roles("attach", roles)
    given = Identity(config.user, tuple(roles) or ((config.role,) if config.role else ()))
    return attached_sessions.attach(spark, config, given, clock)


def detach(spark: SparkSession) -> None:
    """Undo `attach`: what is on record is taken in, PySpark's own methods stand again.

    A session that is not audited, or has been stopped, stays as it is.

    Raises:
        AttachError: it is no session.
    """
    if not is_stopped(spark):
        attached_sessions.detach(require_session(spark))


def flush(spark: SparkSession) -> None:
    """Return when everything recorded so far can be queried.

    Raises:
        AttachError: the session is not audited.
        IngestError: the tables could not be written; the records stay in the spool.
    """
    _audited_session(spark).recorder.flush()


def coverage(spark: SparkSession) -> Coverage:
    """The share of statements since the attach that were analysed in full.

    Raises:
        AttachError: the session is not audited.
    """
    audited = _audited_session(spark)
    # The worker analyses a statement after it has returned.
    audited.recorder.worker.drain()
    return measure_coverage(audited.recorder, audited.services.failures)


@contextmanager
def as_user(spark: SparkSession, user: str, roles: Sequence[str] = ()) -> Iterator[None]:
    """Statements of this thread (and task) inside run on behalf of `user`.

    `SparkSession.getActiveSession()` inside is `spark`: pandas on Spark and MLlib run in it, too.

    Args:
        spark: an audited session.
        user: who runs them.
        roles: the roles in force, the primary one first.

    Raises:
        AttachError: the session is not audited.
        ConfigInvalid: the user is no name, or the roles are no list of names.
    """
    audited = _audited_session(spark)
    _require_user(user)
    _require_roles("as_user", roles)
    # The tag tells the listener the user of executions outside of audited calls.
    with ExitStack() as block:
        block.enter_context(identity.acting_as(Identity(user, tuple(roles))))
        block.enter_context(session_of_block(spark))
        block.enter_context(job_tags.tagged(spark.sparkContext, user_tag(user)))
        for application in attached_sessions.open_applications():
            policies = application.services.policies
            block.enter_context(policies.acting_as(audited.session_id, user, tuple(roles)))
        yield


@contextmanager
def tagged(query_tag: str | None = None, *, purpose: str | None = None) -> Iterator[None]:
    """Statements of this thread (and task) inside are recorded with that tag and purpose.

    They go before `SET audit.query_tag = …` and `SET audit.purpose = …`, and those before what
    `audit.attach(query_tag=…, purpose=…)` was given.

    Args:
        query_tag: what this work is called, up to 2,000 characters; None: as outside.
        purpose: what it is done for, up to 2,000 characters; None: as outside.

    Raises:
        ConfigInvalid: one of them is no text, is empty or too long.
    """
    given: dict[str, Any] = {"query_tag": query_tag, "purpose": purpose}
    for name, text in given.items():
        if text is not None and not (isinstance(text, str) and 0 < len(text.strip()) <= LONGEST_TAG):
            raise ConfigInvalid(
                f"the {name} of audit.tagged is {text!r:.80}",
                f"give a text of 1 to {LONGEST_TAG} characters",
            )
    with identity.tagged_as(Tagging(query_tag, purpose)):
        yield


@contextmanager
def suppress() -> Iterator[None]:
    """A block whose statements, on this thread, are not recorded; that it began and ended is.

    Raises:
        SpoolUnavailableError: its begin cannot be recorded, and `on_record_failure` is "block".
    """
    with ExitStack() as block:
        if not identity.is_suppressed():
            for application in attached_sessions.open_applications():
                block.enter_context(application.pause("audit.suppress"))
        block.enter_context(unrecorded())
        yield


def procedure(function: Callable[P, T]) -> Callable[P, T]:
    """Mark a Python function as a stored procedure: each call is recorded, its statements are children.

    Its SparkSession is the first one among its arguments, else the active session.

    Raises:
        ProcedureError: a generator or a coroutine function: what it runs would run after the call.
    """
    # Calling one only makes an object: its body runs later, outside of the recorded call.
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise ProcedureError(
            f"{function.__qualname__} is a generator or a coroutine, which runs after its call has ended",
            "mark the function that runs it to its end",
        )

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        audited = _audited_among((*args, *kwargs.values()))
        if audited is None or identity.is_suppressed():
            return function(*args, **kwargs)
        # `__qualname__` has the class of a method; functions of two modules may share a name.
        name = f"{function.__module__}.{function.__qualname__}"
        request = StatementRequest(f"CALL {name}", "CALL", "audit.procedure", procedure=name)
        return audited.run_procedure(request, lambda: function(*args, **kwargs))

    return called


def _audited_among(arguments: Sequence[Any]) -> AuditedSession | None:
    from pyspark.sql import SparkSession

    sessions = [a for a in arguments if isinstance(a, SparkSession)]
    spark = sessions[0] if sessions else SparkSession.getActiveSession()
    return attached_sessions.find(spark) if spark is not None else None


def _require_user(user: object) -> None:
    if not isinstance(user, str) or not user.strip():
        raise ConfigInvalid(f"the user of audit.as_user is {user!r}", "name a user: a text that is not empty")


def _require_roles(function: str, roles: Any) -> None:
    """A text is a sequence, too: of its letters."""
    if isinstance(roles, str) or not all(isinstance(role, str) and role.strip() for role in roles):
        example = [roles] if isinstance(roles, str) else ["analyst"]
        raise ConfigInvalid(
            f"the roles of audit.{function} are {roles!r}", f"give a list of names: {example}"
        )


def _audited_session(spark: SparkSession) -> AuditedSession:
    audited = attached_sessions.find(require_session(spark))
    if audited is None:
        raise AttachError("this SparkSession is not audited", "call audit.attach(spark) first")
    return audited
