"""Which sessions of this process are audited, and by which driver.

In: `attach` and `detach`. Out: the interceptor of a session, found in about a microsecond. The front
door is installed while there is at least one.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.capture.front_door import FrontDoor, install
from audit.clock import SystemClock
from audit.config import ARGUMENT
from audit.driver import SESSION_MARK, Driver
from audit.errors import AttachError
from audit.ids import IdGenerator
from audit.jvm import is_running

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.capture.interceptor import Interceptor
    from audit.clock import Clock
    from audit.config import Config
    from audit.identity import Identity


@dataclass(slots=True)
class _Registry:
    drivers: dict[tuple[str, str], Driver] = field(default_factory=dict)
    door: FrontDoor | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)


# PySpark's classes are one to a process, and so is the door in front of them.
_REGISTRY = _Registry()


def attach(spark: SparkSession, config: Config, identity: Identity, clock: Clock | None) -> Interceptor:
    """See `audit.attach`."""
    with _REGISTRY.lock:
        found = find(spark)
        if found is not None:
            _require_same(found, config, identity)
            return found
        _require_auditable(spark)
        driver = _driver(spark, config, clock or SystemClock())
        interceptor = driver.attach(spark, identity)
        if _REGISTRY.door is None:
            _REGISTRY.door = install(find, stopping)
        return interceptor


def detach(spark: SparkSession) -> None:
    """See `audit.detach`."""
    with _REGISTRY.lock:
        interceptor = find(spark)
        if interceptor is None:
            return
        interceptor.driver.release(interceptor)
        _forget_closed()


def stopping(spark: SparkSession) -> None:
    """A SparkContext is about to stop: every driver of its application is closed, whatever that raises."""
    context = spark.sparkContext
    for driver in list(_REGISTRY.drivers.values()):
        if driver.spark.sparkContext is context:
            _close(driver)


def find(spark: SparkSession) -> Interceptor | None:
    """The interceptor of a session; also of another Python object for the same or a cloned JVM session."""
    if "_audit" in spark.__dict__:
        found: Interceptor | None = spark.__dict__["_audit"]
        if found is None or not found.driver.is_closed:
            return found
        del spark.__dict__["_audit"]
    drivers = [driver for driver in list(_REGISTRY.drivers.values()) if not driver.is_closed]
    if not drivers:
        return None
    mark = spark.conf.get(SESSION_MARK, "") or ""
    marked = (driver.interceptor(mark) for driver in drivers)
    found = next((interceptor for interceptor in marked if interceptor is not None), None)
    if found is not None:
        spark.__dict__["_audit"] = found
    return found


def _driver(spark: SparkSession, config: Config, clock: Clock) -> Driver:
    key = (str(spark.sparkContext.applicationId), config.root)
    _forget_closed()
    if key not in _REGISTRY.drivers:
        _REGISTRY.drivers[key] = Driver(spark, config, clock, IdGenerator(clock))
    driver = _REGISTRY.drivers[key]
    _require_same_options(driver, config)
    return driver


def _close(driver: Driver) -> None:
    try:
        driver.close()
    except Exception as error:  # noqa: BLE001 - Spark stops whatever the audit's disk does
        warnings.warn(f"the audit of {driver.application_id} did not close in order: {error!r}", stacklevel=3)


def _forget_closed() -> None:
    for driver in list(_REGISTRY.drivers.values()):
        if not driver.is_closed and not is_running(driver.spark.sparkContext):
            _close(driver)  # its context was stopped past the front door
    for key in [k for k, d in _REGISTRY.drivers.items() if d.is_closed]:
        del _REGISTRY.drivers[key]
    if not _REGISTRY.drivers and _REGISTRY.door is not None:
        _REGISTRY.door.remove()
        _REGISTRY.door = None


def _require_same(found: Interceptor, config: Config, identity: Identity) -> None:
    """A second attach changes nothing, so what it asks for must be what holds."""
    if config.sources["root"] == ARGUMENT and found.driver.config.root != config.root:
        raise AttachError(
            f"this session is audited under {found.driver.config.root}, not {config.root}",
            "call audit.detach(spark) first",
        )
    of_user = config.sources["user"] == ARGUMENT and found.identity.user != identity.user
    if of_user or (identity.roles and identity.roles != found.identity.roles):
        raise AttachError(
            f"this session is audited as {found.identity}, not {identity}",
            "use `with audit.as_user(spark, …)`, or call audit.detach(spark) first",
        )
    _require_same_options(found.driver, config)


def _require_same_options(driver: Driver, config: Config) -> None:
    for name, source in config.sources.items():
        if source != ARGUMENT or name in ("root", "user", "role"):
            continue
        holds, asked = getattr(driver.config, name), getattr(config, name)
        if holds != asked:
            raise AttachError(
                f"{driver.config.root} is audited with {name} = {holds!r} in this application, not {asked!r}",
                "detach its sessions first, or leave the option out",
            )


def _require_auditable(spark: SparkSession) -> None:
    if not hasattr(spark, "_jsparkSession"):
        raise AttachError(
            "a Spark Connect client cannot be audited from here: its statements run elsewhere",
            "attach in the driver of the Connect server",
        )
    extensions = spark.conf.get("spark.sql.extensions", "") or ""
    if "DeltaSparkSessionExtension" not in extensions:
        raise AttachError(
            "this session has no Delta Lake (spark.sql.extensions lacks DeltaSparkSessionExtension)",
            "configure Delta as https://docs.delta.io shows, or use audit.session()",
        )
