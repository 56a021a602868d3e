"""Which sessions of this process are audited, and by which driver.

In: `attach` and `detach`. Out: the interceptor of a session, found in about a microsecond. The front
door is installed while there is at least one.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from audit.capture.front_door import FrontDoor, install
from audit.clock import SystemClock
from audit.driver import Driver
from audit.errors import AttachError
from audit.ids import IdGenerator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from audit.capture.interceptor import Interceptor
    from audit.clock import Clock
    from audit.config import Config
    from audit.identity import Identity

_MARK = "spark.audit.session"


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
            _require_same_root(found, config)
            found.identity = identity
            return found
        _require_auditable(spark)
        driver = _driver(spark, config, clock or SystemClock())
        interceptor = driver.adopt(spark, identity)
        spark.conf.set(_MARK, interceptor.session_id)
        if _REGISTRY.door is None:
            _REGISTRY.door = install(find)
        return interceptor


def detach(spark: SparkSession) -> None:
    """See `audit.detach`."""
    with _REGISTRY.lock:
        interceptor = find(spark)
        if interceptor is None:
            return
        spark.conf.unset(_MARK)
        interceptor.driver.release(interceptor)
        _forget_closed()


def find(spark: SparkSession) -> Interceptor | None:
    """The interceptor of a session; also of another Python object for the same or a cloned JVM session."""
    if "_audit" in spark.__dict__:
        found: Interceptor | None = spark.__dict__["_audit"]
        return found if found is None or not found.driver.is_closed else None
    if not _REGISTRY.drivers:
        return None
    mark = spark.conf.get(_MARK, "")
    found = next((d.interceptors[mark] for d in _REGISTRY.drivers.values() if mark in d.interceptors), None)
    if found is not None:
        spark.__dict__["_audit"] = found
    return found


def _driver(spark: SparkSession, config: Config, clock: Clock) -> Driver:
    key = (str(spark.sparkContext.applicationId), config.root)
    _forget_closed()
    if key not in _REGISTRY.drivers:
        _REGISTRY.drivers[key] = Driver(spark, config, clock, IdGenerator(clock))
    return _REGISTRY.drivers[key]


def _forget_closed() -> None:
    for key in [k for k, d in _REGISTRY.drivers.items() if d.is_closed]:
        del _REGISTRY.drivers[key]
    if not _REGISTRY.drivers and _REGISTRY.door is not None:
        _REGISTRY.door.remove()
        _REGISTRY.door = None


def _require_same_root(found: Interceptor, config: Config) -> None:
    if found.driver.config.root != config.root:
        raise AttachError(
            f"this session is audited under {found.driver.config.root}, not {config.root}",
            "call audit.detach(spark) first",
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
