"""The audited sessions of this process, with their applications.

In: `attach` and `detach`. Out: the audited side of a session, found in about a microsecond. PySpark's
methods are wrapped while there is at least one.
"""

from __future__ import annotations

import threading
import warnings
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.application import Application
from audit.capture.jvm_statements import JvmStatements
from audit.capture.wrappers import install
from audit.core.clock import SystemClock
from audit.core.config import ARGUMENT, OF_A_SESSION, tagging_of
from audit.core.errors import AttachError
from audit.core.guard import attempt
from audit.core.ids import IdGenerator
from audit.spark.file_systems import require_file_system
from audit.spark.internals.probe import require_internals
from audit.spark.sessions import is_running
from audit.spark.statement_gateway import StatementGateway
from lineage.sql.own_statements import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from audit.capture.audited_session import AuditedSession
    from audit.core.clock import Clock
    from audit.core.config import Config
    from audit.core.identity import Identity
    from audit.spark.pyspark_api.method_patches import MethodPatches


@dataclass(slots=True)
class _Registry:
    applications: dict[tuple[str, str], Application] = field(default_factory=dict)
    former_roots: set[str] = field(default_factory=set)
    patches: MethodPatches | None = None
    gateway: StatementGateway | None = None
    # Reentrant: attaching may close an application whose context has stopped.
    lock: threading.RLock = field(default_factory=threading.RLock)


# PySpark's classes are one to a process, and so are their wrapped methods.
_REGISTRY = _Registry()


def attach(spark: SparkSession, config: Config, identity: Identity, clock: Clock | None) -> AuditedSession:
    """See `audit.attach`."""
    with _REGISTRY.lock:
        found = find(spark)
        if found is not None:
            _require_same(found, config, identity)
            return found
        _require_auditable(spark)
        require_file_system(spark, config.root)
        require_internals(spark)
        application = _application(spark, config, clock or SystemClock())
        audited = application.attach(spark, identity, tagging_of(config))
        # After the application is ready: a wrapped call must find it.
        if _REGISTRY.patches is None:
            _REGISTRY.patches = install(find, _adopt, stopping, in_callback)
        if _REGISTRY.gateway is None:
            statements = JvmStatements(find, open_applications)
            _REGISTRY.gateway = StatementGateway(spark.sparkContext, statements.answer, WORDS)
        _REGISTRY.gateway.install(spark)
        return audited


def detach(spark: SparkSession) -> None:
    """See `audit.detach`."""
    with _REGISTRY.lock:
        audited = find(spark)
        if audited is None:
            return
        _application_of(audited).release(audited)
        _forget_closed()


def stopping(spark: SparkSession) -> None:
    """Close the applications of a SparkContext that is about to stop; errors become warnings."""
    context = spark.sparkContext
    for application in list(_REGISTRY.applications.values()):
        if application.services.spark.sparkContext is context:
            _close(application, "SparkSession.stop")


def find(spark: SparkSession) -> AuditedSession | None:
    """The audited side of a session; also of another Python object for the same or a cloned JVM session."""
    if "_audit" in spark.__dict__:
        found: AuditedSession | None = spark.__dict__["_audit"]
        if found is None or not found.is_closed:
            return found
        del spark.__dict__["_audit"]
    marked = (application.find(spark) for application in open_applications())
    return next((audited for audited in marked if audited is not None), None)


@contextmanager
def in_callback() -> Iterator[None]:
    """See `ThreadIdentity.in_callback`, of each application."""
    with ExitStack() as around:
        for application in open_applications():
            around.enter_context(application.services.enforcer.thread.in_callback())
        yield


def open_applications() -> list[Application]:
    """The applications that are not closed."""
    return [one for one in list(_REGISTRY.applications.values()) if not one.is_closed]


def _application_of(audited: AuditedSession) -> Application:
    found = (one for one in _REGISTRY.applications.values() if one.services is audited.services)
    return next(found)


def _adopt(parent: AuditedSession, child: SparkSession) -> None:
    """Audit a session that an audited one created."""
    if not parent.is_closed:
        _application_of(parent).adopt(child, parent.identity, parent.given_tagging)


def _application(spark: SparkSession, config: Config, clock: Clock) -> Application:
    key = (str(spark.sparkContext.applicationId), config.root)
    _forget_closed()
    if key not in _REGISTRY.applications:
        _REGISTRY.applications[key] = Application(
            spark, config, clock, IdGenerator(clock), _REGISTRY.former_roots - {config.root}
        )
    application = _REGISTRY.applications[key]
    _require_same_options(application.services.config, config)
    return application


def _close(application: Application, action: str = "SparkContext.stop") -> None:
    def failed(error: Exception) -> None:  # Spark stops whatever the audit's disk does
        name = application.services.application_id
        warnings.warn(f"the audit of {name} did not close in order: {error!r}", stacklevel=5)

    attempt(lambda: application.close(action), failed)


def _forget_closed() -> None:
    for application in list(_REGISTRY.applications.values()):
        if not application.is_closed and not is_running(application.services.spark.sparkContext):
            _close(application)  # its context was stopped past `SparkSession.stop`
    for key in [k for k, d in _REGISTRY.applications.items() if d.is_closed]:
        _REGISTRY.former_roots.add(_REGISTRY.applications.pop(key).services.config.root)
    if not _REGISTRY.applications and _REGISTRY.patches is not None:
        _REGISTRY.patches.remove()
        _REGISTRY.patches = None
    if not _REGISTRY.applications and _REGISTRY.gateway is not None:
        gateway, _REGISTRY.gateway = _REGISTRY.gateway, None
        gateway.close()


def _require_same(found: AuditedSession, config: Config, identity: Identity) -> None:
    """A second attach changes nothing, so what it asks for must be what holds."""
    if config.sources["root"] == ARGUMENT and found.services.config.root != config.root:
        raise AttachError(
            f"this session is audited under {found.services.config.root}, not {config.root}",
            "call audit.detach(spark) first",
        )
    of_user = config.sources["user"] == ARGUMENT and found.identity.user != identity.user
    if of_user or (identity.roles and identity.roles != found.identity.roles):
        raise AttachError(
            f"this session is audited as {found.identity}, not {identity}",
            "use `with audit.as_user(spark, …)`, or call audit.detach(spark) first",
        )
    for name in ("query_tag", "purpose"):
        holds, asked = getattr(found.given_tagging, name), getattr(config, name)
        if config.sources[name] == ARGUMENT and holds != asked:
            raise AttachError(
                f"this session is audited with {name} = {holds!r}, not {asked!r}",
                f"use `with audit.tagged(…)` or `SET audit.{name} = …`, or call audit.detach(spark) first",
            )
    _require_same_options(found.services.config, config)


def _require_same_options(attached: Config, config: Config) -> None:
    for name, source in config.sources.items():
        if source != ARGUMENT or name in OF_A_SESSION:
            continue
        holds, asked = getattr(attached, name), getattr(config, name)
        if holds != asked:
            raise AttachError(
                f"{attached.root} is audited with {name} = {holds!r} in this application, not {asked!r}",
                "detach its sessions first, or leave the option out",
            )


def _require_auditable(spark: SparkSession) -> None:
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if "DeltaSparkSessionExtension" not in extensions:
        raise AttachError(
            "this session has no Delta Lake (spark.sql.extensions lacks DeltaSparkSessionExtension)",
            "configure Delta as https://docs.delta.io shows, or use audit.session()",
        )
