"""One clock for Python, Spark SQL, Delta and the files: it moves them all, in the Spark of a test process.

In: a JVM with `PlainFiles` for its local files. Out: a `MovingClock`, which is a clock for `audit.attach` and
tells the machine's time, so much later. Where it is moved by nine days, everything that goes by time sees
them: commit times and in-commit timestamps, the times at which files were removed and written, VACUUM, the
limits of Delta's own time travel, the clean-up of its log, `current_timestamp()`, and our retention.
"""

from __future__ import annotations

import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = Path(__file__).with_name("MovedTime.java")
AGENT = "MovedTime"
MOVED = "tests.clock.moved.milliseconds"
_MANIFEST = f"Manifest-Version: 1.0\nAgent-Class: {AGENT}\nCan-Retransform-Classes: true\n"


class MovingClock:
    """The machine's time and a distance to it, the same in Python and in the JVM.

    Args:
        spark: a session of the JVM whose time is to move.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._system = spark.sparkContext._jvm.java.lang.System
        self._moved = 0
        if self._system.getProperty(MOVED) is None:
            _load_agent(spark)
        # Logs that Delta has opened before have the machine's clock.
        spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()

    def now(self) -> int:
        """Microseconds since the epoch, UTC."""
        return time.time_ns() // 1000 + self._moved * 1000

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        """Move the time on."""
        distance = timedelta(days=days, hours=hours, seconds=seconds)
        self._move(self._moved + distance // timedelta(milliseconds=1))

    def reset(self) -> None:
        """Back to the machine's time. Tables of the moved time lie in the future then: use new ones."""
        self._move(0)

    def _move(self, milliseconds: int) -> None:
        self._moved = milliseconds
        self._system.setProperty(MOVED, str(milliseconds))


def _load_agent(spark: SparkSession) -> None:
    """Let the JVM load `MovedTime` as an agent; takes two seconds, once a JVM.

    An agent given at the start would slow the start of every test process down.
    """
    jvm = spark.sparkContext._jvm
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook(SOURCE.read_text("utf-8"))
    path = Path(tempfile.mkdtemp(prefix="moved-time-")) / "agent.jar"
    with ZipFile(path, "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", _MANIFEST)
        for name, code in compiler.getBytecodes().items():
            jar.writestr(f"{name}.class", bytes(code))
    said = compiler.getClassLoader().loadClass(AGENT).newInstance().load(str(path))
    if jvm.java.lang.System.getProperty(MOVED) is None:
        raise AssertionError(f"the JVM did not load {SOURCE.name}: {said}")
