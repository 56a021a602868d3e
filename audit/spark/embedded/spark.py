"""The embedded Spark: Delta, a Hive metastore on Derby, a local warehouse, all under one folder.

In: a local root. Out: a plain SparkSession, not audited yet (`audit.session` does that). The start needs
no network and prints nothing: what the JVM says goes to `<root>/logs/spark.log`.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from audit.core.errors import RootNotLocal, RootUnwritable, SparkRuns, SparkUnavailable
from audit.core.file_paths import local_path
from audit.spark import java_classes
from audit.spark.embedded import class_archive, jars, java, moved_root
from audit.spark.embedded.rootlock import RootLock
from audit.spark.jvm import class_loader
from audit.spark.sessions import OWN, own_session
from lineage.names import SESSION_CATALOG

if TYPE_CHECKING:
    from collections.abc import Mapping

EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
ROOT_KEY = "spark.audit.root"
LOG_BYTES = 10 << 20  # a log this long makes room for a new one at the next start
# Values of these are lists: what the caller adds comes beside ours, not in its place.
_JOINED = {
    "spark.sql.extensions": ",",
    "spark.driver.extraClassPath": os.pathsep,
    "spark.executor.extraClassPath": os.pathsep,
    "spark.driver.extraJavaOptions": " ",
}


def embedded(
    root: str | Path,
    *,
    app_name: str = "spark-access-history",
    master: str = "local[*]",
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start Spark with Delta under a folder of this machine, or give the session that runs there.

    Makes `metastore/`, `warehouse/` and `logs/` under the root. The session's time zone is UTC.

    Args:
        root: the folder; made where it is missing.
        app_name: as Spark's `spark.app.name`.
        master: as Spark's `spark.master`.
        conf: Spark settings that win over the defaults here; lists (extensions, class paths, Java options)
            are added to them.

    Raises:
        JavaNotFound: no Java where Spark looks.
        JavaUnsupported: a Java that Spark 4.2 does not start on.
        JarUnavailable: Delta's jars are not here and cannot be fetched.
        RootBusy: another process has this root's metastore open.
        SparkRuns: this process already runs another Spark.
        SparkUnavailable: Spark did not start.
    """
    folder = _local(root)
    if SparkContext._active_spark_context is not None:
        return _running(folder, conf or {})
    java.locate(os.environ)
    settings = _joined(_defaults(folder, jars.resolve(os.environ)), conf or {})
    settings.update({"spark.app.name": app_name, "spark.master": master, ROOT_KEY: str(folder)})
    # Without the spark.* system properties of a JVM that has run another Spark.
    spark_conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = _gateway(folder, spark_conf)
    # With a gateway of ours SparkContext starts no JVM of its own.
    context = SparkContext(conf=spark_conf, gateway=gateway)
    # PySpark would run Python workers with the `python3` of PATH, which need not be this Python.
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.getOrCreate()


def by_path(conf: Mapping[str, str] | None = None, *, master: str = "local[*]") -> SparkSession:
    """A Spark for jobs that open Delta tables by path: no metastore, no folder of its own under a root.

    Any number of them may run beside the drivers of a root. Where this process already runs a Spark with
    Delta, its sessions' parent is that one.

    Raises:
        JavaNotFound, JavaUnsupported, JarUnavailable: as `embedded`.
        SparkUnavailable: Spark did not start.
    """
    if SparkContext._active_spark_context is not None:
        return own_session(SparkSession.builder.getOrCreate())
    java.locate(os.environ)
    folder = Path(tempfile.mkdtemp(prefix="spark-access-history-"))
    (folder / "logs").mkdir()
    defaults = _defaults(folder, jars.resolve(os.environ)) | OWN
    settings = _joined(defaults | {"spark.sql.catalogImplementation": "in-memory"}, conf or {})
    settings |= {"spark.master": master, "spark.app.name": "audit"}
    spark_conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    gateway = _launch(folder, spark_conf, RootLock(()))
    java_classes.load_classes(gateway.jvm)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    context = SparkContext(conf=spark_conf, gateway=gateway)
    context.pythonExec = os.environ.get("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder.getOrCreate()


def log_path(root: str | Path) -> Path:
    """Where the JVM's output goes."""
    return _local(root) / "logs" / "spark.log"


def stop_jvm(spark: SparkSession) -> Any:
    """Stop a session and its JVM; returns the process of the JVM, which is about to end."""
    gateway: Any = spark.sparkContext._gateway
    spark.stop()
    gateway.shutdown()
    return gateway.proc


def _defaults(folder: Path, delta: tuple[Path, ...]) -> dict[str, str]:
    class_path = os.pathsep.join(str(jar) for jar in delta)
    archive = class_archive.locate(os.environ, delta)
    options = [
        f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}",
        f"-Dderby.stream.error.file={folder / 'logs' / 'derby.log'}",
        *([f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []),
    ]
    return {
        "spark.sql.extensions": f"{EXTENSION},{java_classes.EXTENSION}",
        f"spark.sql.catalog.{SESSION_CATALOG}": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        # On the class path, not in spark.jars: nothing is copied at a start, and the class archive holds
        # them. Executors of local-cluster find them at the same paths.
        "spark.driver.extraClassPath": class_path,
        "spark.executor.extraClassPath": class_path,
        "spark.driver.extraJavaOptions": " ".join(f'"{option}"' for option in options),
        # Spark's default is 1g.
        "spark.driver.memory": "2g",
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
        ),
        "spark.hadoop.hive.exec.scratchdir": str(folder / "tmp" / "hive"),  # else /tmp/hive, shared by all
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # A table without USING has a past, too.
        "spark.sql.sources.default": "delta",
        "spark.sql.legacy.createHiveTableByDefault": "false",
        # Else Delta takes a version's time from the modification time of its log file, which a copy of the
        # folder changes (delta #1958).
        "spark.databricks.delta.properties.defaults.enableInCommitTimestamps": "true",
        # A generated column that casts a timestamp to a date does so in the session's time zone.
        "spark.sql.session.timeZone": "UTC",
        # Delta 4.4.0's parser loses parameters on Spark 4.1 and 4.2 (UNBOUND_SQL_PARAMETER) without it.
        "spark.sql.legacy.parameterSubstitution.constantsOnly": "true",
        # 200 and 50 by default: a query of one row then takes seconds on one machine.
        "spark.sql.shuffle.partitions": "4",
        "spark.databricks.delta.snapshotPartitions": "2",
        # 100 by default, and a view has up to ten: who asks a dozen of them in turns waits for the compiler
        # each time.
        "spark.sql.codegen.cache.maxEntries": "1000",
        # Delta's VACUUM lists in so many tasks, 10,000 by default.
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "16",
        # The UI would open a port.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # No look-up of this machine's name, and no port that others can reach.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


def _joined(defaults: Mapping[str, str], conf: Mapping[str, str]) -> dict[str, str]:
    """The defaults with the caller's settings over them.

    >>> _joined({"spark.sql.extensions": "a", "spark.ui.enabled": "false"}, {"spark.sql.extensions": "b"})
    {'spark.sql.extensions': 'a,b', 'spark.ui.enabled': 'false'}
    """
    added = {
        key: f"{defaults[key]}{_JOINED[key]}{value}" if key in defaults and key in _JOINED else str(value)
        for key, value in conf.items()
    }
    return {**defaults, **added}


def _local(root: str | Path) -> Path:
    folder = local_path(str(root))
    if folder is None:
        raise RootNotLocal(
            f"the embedded session keeps its metastore on this machine, and {root} is elsewhere",
            "take a local root, or build a session with a shared metastore and call audit.attach on it",
        )
    return folder.expanduser().absolute()


def _running(folder: Path, conf: Mapping[str, str]) -> SparkSession:
    """The session that already runs in this process, if it is the one that was asked for."""
    spark = SparkSession.builder.getOrCreate()
    runs_at = spark.conf.get(ROOT_KEY, None)
    if runs_at != str(folder):
        delta = EXTENSION in (spark.conf.get("spark.sql.extensions", None) or "")
        what = f"one at {runs_at}" if runs_at else f"one of your own, {'with' if delta else 'without'} Delta"
        way_out = "call audit.attach on it, or stop it" if delta else "stop it"
        raise SparkRuns(
            f"this process already runs a Spark, {what}, so none can start at {folder}",
            f"{way_out} first, or use another process",
        )
    for key, value in conf.items():
        if key not in _JOINED and spark.conf.get(key, None) != str(value):
            raise SparkRuns(
                f"the session at {folder} already runs with another {key}",
                "set it with spark.conf.set, or stop the session first",
            )
    return spark


def _gateway(folder: Path, conf: SparkConf) -> Any:
    """The JVM: the one of this process if it has one (PySpark keeps it after `stop`), else a new one."""
    gateway: Any = SparkContext._gateway
    locks: dict[Path, RootLock] = {} if gateway is None else vars(gateway).setdefault("audit_locks", {})
    lock = locks.get(folder) or _claim(folder)
    if gateway is None:
        gateway = _launch(folder, conf, lock)
    elif not _has_delta(gateway):
        lock.release()
        raise SparkRuns(
            "this process started its JVM without Delta's jars, and they cannot be added to it",
            "start the embedded session before any other Spark, or in another process",
        )
    java_classes.load_classes(gateway.jvm)
    # Derby keeps a database open until its JVM ends, so the lock lives as long as the gateway does.
    vars(gateway).setdefault("audit_locks", {})[folder] = lock
    moved_root.adopt(folder, lambda: _derby(gateway, folder))
    return gateway


def _derby(gateway: Any, folder: Path) -> Any:
    """A connection to the metastore, before Hive opens its own."""
    properties = gateway.jvm.java.util.Properties()
    url = f"jdbc:derby:;databaseName={folder / 'metastore'}"
    connection = gateway.jvm.org.apache.derby.jdbc.EmbeddedDriver().connect(url, properties)
    connection.setAutoCommit(False)
    return connection


def _claim(folder: Path) -> RootLock:
    try:
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "tmp" / "hive").mkdir(parents=True, exist_ok=True)
        return RootLock.claim(folder)
    except OSError as error:
        raise RootUnwritable(
            f"cannot write the root {folder} ({error})", "take a folder that you may write"
        ) from error


def _launch(folder: Path, conf: SparkConf, lock: RootLock) -> Any:
    with _open_log(log_path(folder)) as log:
        # The JVM inherits the lock: should this process die, the root is free only when the JVM is gone too.
        options: dict[str, Any] = {"stdout": log, "stderr": log, "pass_fds": lock.descriptors}
        if os.name == "nt":
            del options["pass_fds"]
        try:
            return launch_gateway(conf, options)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            lock.release()
            java.find(os.environ)
            raise SparkUnavailable(
                f"Spark did not start, {log.name} ends with: {_tail(Path(log.name))}",
                "fix the problem that the log names",
            ) from error


def _open_log(path: Path) -> BinaryIO:
    if path.is_file() and path.stat().st_size > LOG_BYTES:
        # At a start only: the JVM has the file open while it runs.
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def _tail(path: Path) -> str:
    return " | ".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-3:])


def _has_delta(gateway: Any) -> bool:
    return class_loader(gateway.jvm).getResource(EXTENSION.replace(".", "/") + ".class") is not None
